import HTTP
import Testing

@testable import APNsSimulator

@Suite("Recorded requests") struct RequestRingTests {
    static func request(bodyByteCount: Int = 0, token: UInt8 = 1) -> RecordedRequest {
        RecordedRequest(
            receivedAt: 0, environment: .production, connection: 1, streamID: 1, token: [token], providerToken: nil,
            reading: PayloadReading(),
            request: HTTPRequest(method: "POST", target: "/", body: [UInt8](repeating: 0, count: bodyByteCount)))
    }

    @Test("are numbered from 1, and the oldest make room")
    func boundsNumber() {
        var ring = RequestRing()
        for _ in 0..<5000 { _ = ring.append(Self.request(), limit: 1500, byteLimit: .max) }
        #expect(ring.count == 1500)
        #expect(ring.select(RequestQuery(), limit: .max).map(\.number) == Array(3501...5000))
    }

    @Test("lose header fields and bodies first, oldest first, when there are too many bytes")
    func boundsBytes() {
        var ring = RequestRing()
        for _ in 0..<10 { _ = ring.append(Self.request(bodyByteCount: 99), limit: 100, byteLimit: 350) }
        #expect(ring.byteCount == 300)
        let kept = ring.select(RequestQuery(), limit: .max)
        #expect(kept.count == 10)
        #expect(kept.map { $0.request != nil } == [Bool](repeating: false, count: 7) + [true, true, true])
    }

    @Test("are found by number, token and state")
    func selects() {
        var ring = RequestRing()
        for index in 1...20 { _ = ring.append(Self.request(token: UInt8(index % 2)), limit: 10, byteLimit: .max) }
        #expect(ring.select(RequestQuery(token: [1], since: 15), limit: .max).map(\.number) == [17, 19])
        #expect(ring.select(RequestQuery(token: [0], since: 0), limit: 2).map(\.number) == [12, 14])
        _ = ring.settle(14, .reset(code: 1))
        #expect(ring.settle(3, .unanswered) == nil)
        var query = RequestQuery()
        query.isSettled = true
        #expect(ring.select(query, limit: .max).map(\.number) == [14])
        #expect(ring.count(matching: query, upTo: 5) == 1)
    }

    @Test("that are not kept still count")
    func skips() {
        var ring = RequestRing()
        _ = ring.append(Self.request(), limit: 10, byteLimit: .max)
        ring.skip()
        #expect(ring.select(RequestQuery(), limit: .max).isEmpty)
        #expect(ring.append(Self.request(), limit: 10, byteLimit: .max) == 3)
        #expect(ring.select(RequestQuery(), limit: .max).map(\.number) == [3])
    }
}
