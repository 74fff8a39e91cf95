import Glibc
import Testing

@testable import Networking

@Suite("Signals", .timeLimit(.minutes(1))) struct SignalTests {
    @Test("that are blocked are taken one by one instead of ending the process") func taken() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let signals = [SIGTERM, SIGHUP]
            // The threads that run the tests were started before and do not have the mask: the signals are sent to this thread alone.
            try Signals.block(signals)
            pthread_kill(pthread_self(), SIGHUP)
            guard Signals.wait(for: signals) == SIGHUP else { exit(1) }
            pthread_kill(pthread_self(), SIGTERM)
            exit(Signals.wait(for: signals) == SIGTERM ? 7 : 1)
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
