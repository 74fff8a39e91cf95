import Gateway
import HTTP
import Testing

@testable import API

@Suite("Request body") struct RequestBodyTests {
    @Test(
        "that cannot be read is refused with why",
        arguments: [
            (nil, [], "body: a JSON object is required"), (nil, Array("[]".utf8), "body: must be a JSON object"),
            (nil, [0x1F, 0x8B, 8], "body: invalid JSON at byte 0: unexpected character"),
            ("gzip", [0x1F, 0x8B, 8], "body: must be JSON without a content-encoding"),
        ] as [(String?, [UInt8], String)])
    func refuses(encoding: String?, body: [UInt8], text: String) async {
        let api = TestAPI()
        var headers: HTTPHeaders = ["authorization": "Key \(FakePorts.keys[.rest] ?? "")"]
        if let encoding { headers.append("content-encoding", encoding) }
        let target = "/apps/\(TestAPI.app)/activities/activity/Game"
        let response = await api.handler.respond(
            to: HTTPRequest(method: "POST", target: target, headers: headers, body: body))
        #expect(response.status == 400 && response.errorTexts == [text])
    }

    @Test("that says identity is read as it is")
    func identity() async {
        let api = TestAPI()
        let headers: HTTPHeaders = ["authorization": "Key \(FakePorts.keys[.rest] ?? "")", "content-encoding": "identity"]
        let response = await api.handler.respond(
            to: HTTPRequest(
                method: "POST", target: "/apps/\(TestAPI.app)/activities/activity/Game", headers: headers,
                body: Array(Body.start.text.utf8)))
        #expect(response.status == 201)
    }
}
