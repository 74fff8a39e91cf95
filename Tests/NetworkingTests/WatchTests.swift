import CLinux
import Glibc
import Synchronization
import Testing

@testable import Networking

/// A pipe with a byte in it; both ends close with it.
private final class FilledPipe: Sendable {
    let output: FileDescriptor
    private let input: FileDescriptor

    init(isFilled: Bool = true) throws {
        var ends: [Int32] = [-1, -1]
        try SystemError.check("pipe2", unsafe pipe2(&ends, O_CLOEXEC | O_NONBLOCK))
        output = FileDescriptor(owning: ends[0])
        input = FileDescriptor(owning: ends[1])
        if isFilled { _ = unsafe write(ends[1], [1], 1) }
    }
}

/// Calls a closure for each event.
private final class Handler: ReadinessHandler {
    private let action: @Sendable (Readiness) -> Void
    init(_ action: @escaping @Sendable (Readiness) -> Void) { self.action = action }
    func ready(_ readiness: Readiness) { action(readiness) }
}

@Suite("Watch", .timeLimit(.minutes(1))) struct WatchTests {
    @Test("never gets an event meant for an earlier holder of its descriptor's number") func staleEvent() async throws {
        let loop = try EventLoop.start(name: "test")
        defer { loop.stop() }
        let both = [try FilledPipe(), try FilledPipe()]
        let empty = try FilledPipe(isFilled: false)
        let stale = Mutex<[Readiness]>([])
        let replacedCount = Atomic(0)
        // Both pipes are ready in one turn. Whichever comes first puts the empty one in the place of the other, under its number.
        await withCheckedContinuation { continuation in
            loop.perform {
                do {
                    for (number, otherNumber) in [(0, 1), (1, 0)].map({ (both[$0].output.rawValue, both[$1].output.rawValue) }) {
                        let handler = Handler { _ in
                            loop.unwatch(number)
                            loop.unwatch(otherNumber)
                            guard dup2(empty.output.rawValue, otherNumber) == otherNumber else { return }
                            replacedCount.add(1, ordering: .relaxed)
                            let late = Handler { event in stale.withLock { $0.append(event) } }
                            try? loop.watch(otherNumber, for: .readable, handler: late)
                            loop.schedule(after: .milliseconds(1)) { continuation.resume() }
                        }
                        try loop.watch(number, for: .readable, handler: handler)
                    }
                } catch {
                    Issue.record(error)
                    continuation.resume()
                }
            }
        }
        #expect(stale.withLock { $0 }.isEmpty)
        #expect(replacedCount.load(ordering: .relaxed) == 1)
    }

    @Test("rests while nothing is asked for, and goes on when it is", arguments: [false, true])
    func pauses(isShared: Bool) async throws {
        let loop = try EventLoop.start(name: "test")
        defer { loop.stop() }
        let pipe = try FilledPipe()
        let number = pipe.output.rawValue
        let count = Atomic(0)
        await withCheckedContinuation { continuation in
            loop.perform {
                let handler = Handler { _ in
                    loop.change(number, to: [])
                    if count.add(1, ordering: .relaxed).newValue == 3 { return continuation.resume() }
                    let before = count.load(ordering: .relaxed)
                    loop.schedule(after: .milliseconds(2)) {
                        if count.load(ordering: .relaxed) == before { loop.change(number, to: .readable) }
                    }
                }
                do {
                    try loop.watch(number, for: .readable, shared: isShared, handler: handler)
                } catch {
                    Issue.record(error)
                    continuation.resume()
                }
            }
        }
        await withCheckedContinuation { continuation in
            loop.perform {
                loop.unwatch(number)
                loop.unwatch(number)
                continuation.resume()
            }
        }
        #expect(count.load(ordering: .relaxed) == 3)
        _ = pipe
    }

    @Test("is refused for what epoll cannot watch") func refused() async throws {
        let loop = try EventLoop.start(name: "test")
        defer { loop.stop() }
        let file = FileDescriptor(owning: unsafe open("/proc/self/status", O_RDONLY | O_CLOEXEC))
        let number = file.rawValue
        let failure: SystemError? = await withCheckedContinuation { continuation in
            loop.perform {
                do throws(SystemError) {
                    try loop.watch(number, for: .readable, handler: Handler { _ in })
                    continuation.resume(returning: nil)
                } catch {
                    continuation.resume(returning: error)
                }
            }
        }
        #expect(failure == SystemError(operation: "epoll_ctl", code: EPERM))
        _ = file.rawValue
    }
}
