import Gateway
import HTTP
import Security
import Testing

@testable import API

@Suite("A workspace's credentials") struct WorkspaceAuthenticationTests {
    private let api = TestAPI()
    private static let stranger = "00000000-0000-4000-8000-000000000001"

    /// The header, `Authorization`, and what is said of them.
    static let wrong: [(String?, String?, String)] = [
        (nil, TestAPI.basic(), "Authorization header or X-MOE-APPKEY is missing"),
        (TestAPI.app, nil, "Authorization header or X-MOE-APPKEY is missing"),
        (TestAPI.app, "Bearer \(FakePorts.keys[.rest] ?? "")", "Authorization header or X-MOE-APPKEY is missing"),
        (TestAPI.app, "Basic ?", "Authorization header or X-MOE-APPKEY is missing"),
        (TestAPI.app, "Basic \(Base64.encode(Array("no colon".utf8)))", "Authorization header or X-MOE-APPKEY is missing"),
        ("nonsense", TestAPI.basic(), "Invalid App Key"), (stranger, TestAPI.basic(), "Invalid App Key"),
        (TestAPI.app, TestAPI.basic(stranger), "Invalid App Key"), (TestAPI.app, TestAPI.basic("nonsense"), "Invalid App Key"),
        (stranger, TestAPI.basic(stranger), "Invalid App Key"),
        (TestAPI.app, TestAPI.basic(key: "no key"), "Invalid Data Key"),
        (TestAPI.app, TestAPI.basic(key: ""), "Invalid Data Key"),
        (TestAPI.app, TestAPI.basic(key: FakePorts.keys[.client]), "Invalid Data Key"),
        (TestAPI.app, TestAPI.basic(key: FakePorts.keys[.read]), "Invalid Data Key"),
    ]

    @Test("are refused with 401 and the specification's words, before the body is looked at", arguments: wrong)
    func refused(header: String?, authorization: String?, message: String) async {
        let response = await api.broadcast("start", "nonsense", workspace: header, authorization: authorization)
        #expect(response.status == 401)
        #expect(response.text == HTTPResponse.moEngageError("AuthError", message))
        #expect(api.campaigns.with { $0.admitted } == [])
    }

    @Test("agree in either case and with space around them, on every route")
    func accepted() async {
        let authorization = "basic  " + TestAPI.basic(TestAPI.app.uppercased()).dropFirst(6)
        for operation in ["start", "update", "end"] {
            let body = operation == "start" ? Body.broadcastStart : .broadcastUpdate
            let response = await api.broadcast(
                operation, body.text, workspace: " \(TestAPI.app.uppercased()) ", authorization: authorization)
            #expect(response.status == 200, "\(response.text)")
        }
        #expect(await api.createCampaign(Body.campaign.text, authorization: authorization).status == 200)
    }

    @Test("of the campaign route come with MOE-APPKEY") func campaignHeader() async {
        let response = await api.createCampaign("{}", workspace: nil)
        #expect(response.text == HTTPResponse.moEngageError("AuthError", "Authorization header or MOE-APPKEY is missing"))
    }

    @Test("of a key with a colon are taken whole") func colon() async {
        let response = await api.broadcast("start", "", authorization: TestAPI.basic(key: "a:\(FakePorts.keys[.rest] ?? "")"))
        #expect(response.text == HTTPResponse.moEngageError("AuthError", "Invalid Data Key"))
    }
}
