import Glibc
import Testing

@testable import Networking

@Suite("Signals", .timeLimit(.minutes(1))) struct SignalTests {
    @Test("arrive on the loop instead of ending the process") func arrive() async {
        await #expect(processExitsWith: .exitCode(7)) {
            // The threads that run the tests were started before and do not have the mask: the signals are sent to the loop's thread
            // alone, which inherits it.
            let signals = [SIGTERM, SIGHUP]
            try Signals.block(signals)
            let loop = try EventLoop.start(name: "signals")
            loop.perform {
                do throws(SystemError) {
                    let source = try SignalSource(signals, loop: loop) { signal in
                        if signal == SIGHUP { pthread_kill(pthread_self(), SIGTERM) } else { exit(7) }
                    }
                    try source.start()
                } catch {
                    fatalError("\(error)")
                }
                pthread_kill(pthread_self(), SIGHUP)
            }
            await loop.sleep(for: .seconds(30))
        }
    }

    @Test("of broken pipes are errors once ignored") func brokenPipes() async {
        await #expect(processExitsWith: .success) {
            Signals.ignoreBrokenPipes()
            var ends: [Int32] = [-1, -1]
            try SystemError.check("pipe", unsafe pipe(&ends))
            close(ends[0])
            precondition(unsafe write(ends[1], [1], 1) == -1 && errno == EPIPE)
        }
    }
}
