import JSON
import Networking

/// One request to a gateway, HTTP/1.1 in clear: enough to start a fan-out and to read how it went.
actor GatewayClient {
    struct Answer: Sendable {
        let status: Int
        let body: [UInt8]
        var text: String { String(decoding: body, as: UTF8.self) }
        var json: JSONValue? { try? JSONDocument(parsing: body).root }
    }

    /// How long one answer may take.
    private static let answerTimeout: Duration = .seconds(30)

    private let loop: EventLoop
    private let host: String
    private let key: String
    private let stream: SocketStream
    private var received: [UInt8] = []
    private var waiter: CheckedContinuation<Answer, any Error>?

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Sends one request to 127.0.0.1 on a connection of its own: the gateway closes those that rest.
    ///
    /// - Parameter key: the API key it carries.
    static func send(
        _ method: String, _ path: String, body: [UInt8] = [], port: UInt16, key: String, loop: EventLoop
    ) async throws -> Answer {
        let client = try GatewayClient(port: port, key: key, loop: loop)
        do {
            let answer = try await client.send(method, path, body: body)
            await client.close()
            return answer
        } catch {
            await client.close()
            throw error
        }
    }

    private init(port: UInt16, key: String, loop: EventLoop) throws {
        self.loop = loop
        self.key = key
        host = "127.0.0.1:\(port)"
        guard let address = SocketAddress(ipv4: "127.0.0.1", port: port) else { preconditionFailure("127.0.0.1 is an address") }
        stream = try SocketStream.connect(to: address, loop: loop, tls: nil)
    }

    private func close() { stream.close() }

    private func send(_ method: String, _ path: String, body: [UInt8]) async throws -> Answer {
        try stream.activate(handler: self)
        let head =
            "\(method) \(path) HTTP/1.1\r\nhost: \(host)\r\nauthorization: Key \(key)\r\ncontent-length: \(body.count)\r\n\r\n"
        try stream.write((Array(head.utf8) + body).span)
        let deadline = loop.schedule(after: Self.answerTimeout) { [weak self] in
            self?.assumeIsolated { $0.fail(Failure("the gateway did not answer \(method) \(path)")) }
        }
        defer { loop.cancel(deadline) }
        return try await withCheckedThrowingContinuation { waiter = $0 }
    }

    private func advance(_ readiness: Readiness) {
        do {
            guard try stream.process(readiness) else { return }
            while true {
                switch try stream.read(into: &received, limit: 65_536) {
                case .bytes: continue
                case .wouldBlock: return takeAnswer()
                case .endOfStream: return fail(Failure("the gateway closed the connection"))
                }
            }
        } catch {
            fail(error)
        }
    }

    private func fail(_ error: any Error) {
        waiter?.resume(throwing: error)
        waiter = nil
    }

    /// Reads a status line, the length and the body, once all of them are there.
    private func takeAnswer() {
        let blank = Array("\r\n\r\n".utf8)
        guard let end = received.indices.first(where: { received[$0...].starts(with: blank) }) else { return }
        let lines = String(decoding: received[..<end], as: UTF8.self).split(separator: "\r\n")
        let length = lines.compactMap { line -> Int? in
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "content-length" else { return nil }
            return Int(parts[1].drop { $0 == " " })
        }.first
        guard let length, let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            return fail(Failure("the gateway's answer has no status or no length"))
        }
        let start = end + blank.count
        guard received.count >= start + length else { return }
        let answer = Answer(status: status, body: Array(received[start..<start + length]))
        waiter?.resume(returning: answer)
        waiter = nil
    }
}

extension GatewayClient: ReadinessHandler {
    nonisolated func ready(_ readiness: Readiness) { assumeIsolated { $0.advance(readiness) } }
}
