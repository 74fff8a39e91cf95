import Gateway
import HTTP
import Testing

@testable import API

@Suite("Operations") struct OperationsTests {
    private let api = TestAPI()

    @Test("says that it lives, whatever the database does")
    func live() async {
        api.ports.with { $0.failure = .unavailable }
        let response = await api.send("GET", "/livez", key: nil)
        #expect(response.status == 200)
        #expect(response.text == #"{"status":"ok"}"#)
    }

    @Test("says which part is not ready")
    func ready() async {
        #expect(await api.send("GET", "/readyz", key: nil).text == #"{"status":"ready","parts":{"database":"ready"}}"#)
        api.parts.all = [
            ReadinessPart(name: "database", isReady: false), ReadinessPart(name: "apns", isReady: true),
            ReadinessPart(name: "other", isReady: false, reason: "it sleeps; wake it"),
        ]
        let response = await api.send("GET", "/readyz", key: nil)
        #expect(response.status == 503)
        #expect(
            response.text
                == #"{"status":"not ready","parts":{"database":"not ready","apns":"ready","other":"not ready: it sleeps; wake it"}}"#
        )
    }

    @Test("counts requests by route and status, never by what a client may choose")
    func metrics() async {
        _ = await api.send("GET", "/v1/notifications/\(TestAPI.identifier)")
        _ = await api.send("GET", "/anything/else")
        let response = await api.send("GET", "/metrics", key: nil)
        #expect(response.status == 200)
        #expect(response.headers["content-type"]?.hasPrefix("text/plain; version=0.0.4") == true)
        #expect(response.text.contains(#"route="/v1/notifications/:notification",status="404"} 1"#))
        #expect(response.text.contains(#"route="none",status="404"} 1"#))
        #expect(!response.text.contains("anything"))
        #expect(!response.text.contains(TestAPI.identifier))
    }
}
