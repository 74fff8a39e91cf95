import Synchronization
import Testing

@testable import HTTP

@Suite("Body stream") struct BodyStreamTests {
    private final class Calls: Sendable {
        let notified = Atomic<Int>(0)
        let released = Atomic<Int>(0)
        var counts: [Int] { [notified.load(ordering: .relaxed), released.load(ordering: .relaxed)] }
    }

    private let calls = Calls()

    private func stream() -> HTTPBodyStream {
        HTTPBodyStream { [calls] in calls.released.add(1, ordering: .relaxed) }
    }
    private func begin(_ stream: HTTPBodyStream) {
        stream.begin { [calls] in calls.notified.add(1, ordering: .relaxed) }
    }

    @Test("keeps only the latest piece of those that were not taken") func replaces() {
        let stream = stream()
        for piece in 1...3 { stream.offer([UInt8(piece)]) }
        #expect(stream.take() == HTTPBodyStream.Piece(bytes: [3], isLast: false))
        #expect(stream.take() == nil)
    }

    @Test("drops what only shows life when a piece waits") func idle() {
        let stream = stream()
        stream.offer([1])
        stream.offerIfIdle([2])
        #expect(stream.take()?.bytes == [1])
        stream.offerIfIdle([2])
        #expect(stream.take()?.bytes == [2])
    }

    @Test("ends once, behind what waits or with a piece in its place", arguments: [[], [9]] as [[UInt8]])
    func finishes(last: [UInt8]) {
        let stream = stream()
        stream.offer([1])
        stream.finish(last)
        stream.finish([8])
        stream.offer([7])
        stream.offerIfIdle([6])
        #expect(stream.take() == HTTPBodyStream.Piece(bytes: last.isEmpty ? [1] : last, isLast: true))
        #expect(stream.take() == nil)
    }

    @Test("says once that something waits, until it is taken") func notifies() {
        let stream = stream()
        stream.offer([1])
        begin(stream)
        stream.offer([2])
        #expect(calls.counts == [1, 0])
        _ = stream.take()
        _ = stream.take()
        stream.offer([3])
        stream.offer([4])
        #expect(calls.counts == [2, 0])
    }

    @Test("is released once, and holds nothing afterwards") func releases() {
        let stream = stream()
        begin(stream)
        stream.offer([1])
        stream.release()
        stream.release()
        stream.offer([2])
        stream.finish([3])
        #expect(stream.take() == nil)
        #expect(stream.waitingSince == nil)
        #expect(calls.counts == [1, 1])
    }

    @Test("tells since when its oldest piece waits") func waits() throws {
        let stream = stream()
        #expect(stream.waitingSince == nil)
        stream.offer([1])
        let since = try #require(stream.waitingSince)
        stream.offer([2])
        #expect(stream.waitingSince == since)
    }
}
