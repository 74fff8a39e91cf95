import HTTP
import TestSupport
import Testing

@Suite("Draining", .timeLimit(.minutes(1))) struct DrainTests {
    @Test("finishes requests, closes idle connections and accepts no more") func drains() async throws {
        try await withServer { running in
            let idle = try running.socket()
            let busy = try running.socket()
            try busy.send(TestHTTPClient.http1Request("GET", "/wait"))
            await running.handler.started.first { $0 == "/wait" }
            async let drained: Void = running.server.drain(timeout: .seconds(30))
            let (received, isClosed) = try await onThread { idle.receiveToEnd() }
            #expect(isClosed && received == [])
            running.handler.release()
            let (answer, isAnswered) = try await onThread { busy.receiveToEnd() }
            #expect(isAnswered)
            #expect(String(decoding: answer, as: UTF8.self).contains("\r\nconnection: close\r\n"))
            await drained
            #expect(await running.server.connectionCount == 0)
        }
    }

    @Test("cuts what is not done in time") func cuts() async throws {
        try await withServer { running in
            let busy = try running.socket()
            try busy.send(TestHTTPClient.http1Request("GET", "/wait"))
            await running.handler.started.first { $0 == "/wait" }
            await running.server.drain(timeout: .milliseconds(20))
            #expect(await running.end() == .stopped)
        }
    }

    @Test("of a server without connections is immediate") func empty() async throws {
        try await withServer { running in
            await running.server.drain(timeout: .seconds(3600))
            #expect(await running.server.connectionCount == 0)
        }
    }
}
