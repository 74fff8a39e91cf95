import Glibc
import HTTP
import Networking
import TestSupport
import Testing

@Suite("A server without descriptors", .timeLimit(.minutes(1))) struct DescriptorTests {
    static func limitDescriptors(to count: UInt) throws {
        var limit = rlimit(rlim_cur: count, rlim_max: count)
        let result = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        try #require(result == 0)
    }

    @Test("waits, and serves again when there are some") func survives() async {
        // The limit belongs to a process, so the test has one of its own.
        await #expect(processExitsWith: .success) {
            try await withServer { running in
                try Self.limitDescriptors(to: 128)
                var taken: [Int32] = []
                while true {
                    let descriptor = dup(STDERR_FILENO)
                    if descriptor < 0 { break }
                    taken.append(descriptor)
                }
                // One is left, for the client's end; the server's end finds none.
                close(taken.removeLast())
                let socket = try running.socket()
                await running.events.first { if case .acceptFailed(let error) = $0 { error.code == EMFILE } else { false } }
                for descriptor in taken { close(descriptor) }
                try socket.send(TestHTTPClient.http1Request("GET", "/hello"))
                let response = try await onThread {
                    var reader = TestHTTPResponseReader()
                    return try reader.next(from: socket)
                }
                #expect(response.status == 200)
            }
        }
    }
}
