import Networking
import Security
import Synchronization

/// Makes the requests of a measurement, one after the other, for all connections.
final class RegistrationRequests: Sendable {
    private let next = Atomic(0)
    private let count: Int
    private let deviceCount: Int
    /// Tells the tokens of one measurement from those of another.
    private let round: Int
    private let head: String
    private let activityType: String

    init(count: Int, deviceCount: Int, round: Int, key: String, activityType: String) {
        self.count = count
        self.deviceCount = deviceCount
        self.round = round
        self.activityType = activityType
        head = """
            POST /v1/live-activities/start-tokens HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Key \(key)\r\n\
            content-type: application/json\r\ncontent-length:
            """
    }

    /// Taken from one request to the next: a prime, so that neighbours do not follow each other.
    private static let stride = 7_919

    /// The next request; nil when all were made.
    func take() -> [UInt8]? {
        let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
        guard number < count else { return nil }
        let device = UInt64(number * Self.stride % deviceCount + 1)
        // As SQL/audience.sql makes it of a device's number.
        let pushToken = Hexadecimal.encode(SHA256.digest(Self.bytes(device)))
        let token = Hexadecimal.encode(SHA256.digest(Self.bytes(UInt64(number)) + Self.bytes(UInt64(round))))
        let body = #"{"push_token":"\#(pushToken)","activity_type":"\#(activityType)","token":"\#(token)"}"#
        return Array("\(head) \(body.utf8.count)\r\n\r\n\(body)".utf8)
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
    }
}

/// One connection that stays, and sends the next request as soon as the last was answered.
actor RegistrationClient {
    /// How long the next bytes of an answer may take.
    private static let answerTimeout: Duration = .seconds(60)
    private static let readByteLimit = 65_536

    private let loop: EventLoop
    private let stream: SocketStream
    private let requests: RegistrationRequests
    private let status: [UInt8]
    private var received: [UInt8] = []
    private var finished: CheckedContinuation<Void, any Error>?

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// - Parameter status: what every answer must have, such as 200.
    init(port: UInt16, requests: RegistrationRequests, status: Int, loop: EventLoop) throws {
        self.loop = loop
        self.requests = requests
        self.status = Array("HTTP/1.1 \(status)".utf8)
        guard let address = SocketAddress(ipv4: "127.0.0.1", port: port) else { preconditionFailure("127.0.0.1 is an address") }
        stream = try SocketStream.connect(to: address, loop: loop, tls: nil)
    }

    /// Sends until there is no request left.
    func run() async throws {
        try stream.activate(handler: self)
        defer { stream.close() }
        try await withCheckedThrowingContinuation { continuation in
            finished = continuation
            sendNext()
        }
    }

    private func sendNext() {
        guard let request = requests.take() else { return end(nil) }
        do { try stream.write(request.span) } catch { end(error) }
    }

    private func end(_ error: (any Error)?) {
        if let error { finished?.resume(throwing: error) } else { finished?.resume() }
        finished = nil
    }

    private func advance(_ readiness: Readiness) {
        guard finished != nil else { return }
        do {
            guard try stream.process(readiness) else { return }
            while true {
                switch try stream.read(into: &received, limit: Self.readByteLimit) {
                case .bytes: continue
                case .wouldBlock: return takeAnswer()
                case .endOfStream: return end(Failure("a connection was closed while it was measured"))
                }
            }
        } catch {
            end(error)
        }
    }

    private func takeAnswer() {
        guard let length = Self.answerByteCount(received) else { return }
        guard received.starts(with: status), received.count == length else {
            return end(Failure("a registration was answered \(String(decoding: received, as: UTF8.self))"))
        }
        received.removeAll(keepingCapacity: true)
        sendNext()
    }

    /// Head and body of an answer; nil as long as it is not all there.
    private static func answerByteCount(_ bytes: [UInt8]) -> Int? {
        let (blank, name) = (Array("\r\n\r\n".utf8), Array("content-length: ".utf8))
        var length = 0
        for index in bytes.indices {
            if bytes[index] == name[0] | 0x20 || bytes[index] == name[0] & 0xDF, index + name.count <= bytes.count,
                zip(bytes[index...], name).allSatisfy({ $0 | 0x20 == $1 | 0x20 })
            {
                let digits = bytes[(index + name.count)...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
                length = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
            }
            if bytes[index] == blank[0], bytes[index...].starts(with: blank) {
                let end = index + blank.count + length
                return bytes.count >= end ? end : nil
            }
        }
        return nil
    }
}

extension RegistrationClient: ReadinessHandler {
    nonisolated func ready(_ readiness: Readiness) { assumeIsolated { $0.advance(readiness) } }
}
