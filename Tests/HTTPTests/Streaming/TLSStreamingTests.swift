import HTTP
import TestSupport
import Testing

@Suite("Streaming under TLS", .timeLimit(.minutes(1))) struct TLSStreamingTests {
    @Test(
        "reaches the client whole, over both versions",
        arguments: TestHTTPClient.isInstalled("curl") ? [TestHTTPClient.Version.http1, .http2] : [.http1])
    func whole(version: TestHTTPClient.Version) async throws {
        try await withServer(secure: true) { running in
            async let response = running.client(version).send("GET", "/stream?bytes=100000")
            let stream = await running.handler.streams.first { _ in true }
            stream.offer(Array("one".utf8))
            stream.finish(Array("end".utf8))
            let answer = try await response
            #expect(answer.status == 200)
            #expect(answer.headers["content-length"] == nil)
            #expect(answer.text.hasPrefix("aaaa") && answer.text.hasSuffix("end"))
            #expect([100_003, 100_006].contains(answer.body.count))
            await running.handler.released.first { _ in true }
        }
    }
}
