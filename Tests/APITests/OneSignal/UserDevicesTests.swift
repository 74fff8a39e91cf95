import Gateway
import HTTP
import Testing

@testable import API

@Suite("Devices of users of OneSignal's clients") struct UserDevicesTests {
    private let api = TestAPI()
    private static let users = "/apps/\(TestAPI.app)/users"

    private func send(_ method: String, _ target: String, _ body: String, subscription: String? = nil) async -> HTTPResponse {
        var headers: HTTPHeaders = ["authorization": "Key \(FakePorts.keys[.rest] ?? "")"]
        if let subscription { headers.append("OneSignal-Subscription-Id", subscription) }
        return await api.handler.respond(
            to: HTTPRequest(method: method, target: target, headers: headers, body: Array(body.utf8)))
    }

    @Test(
        "change hands under the label of the path, unless that is the gateway's own",
        arguments: [("customer", "customer"), ("external_id", "external_id"), ("onesignal_id", nil)]
            as [(String, ExactText?)])
    func addsUnderLabel(label: String, told: ExactText?) async {
        let body = #"{"subscription":{"type":"iOSPush","token":"ab01"}}"#
        #expect(await send("POST", "\(Self.users)/by/\(label)/7/subscriptions", body).status == 201)
        #expect(api.ports.with { $0.userRegistrations.last?.userLabel } == told)
        #expect(api.ports.with { $0.userRegistrations.last?.namesWholeUser } == true)
    }

    @Test(
        "have a session when the client says on which of them it runs; what cannot be read names none",
        arguments: [
            (TestAPI.identifier, FakePorts.accepted.publicID), (TestAPI.identifier.uppercased(), FakePorts.accepted.publicID),
            ("local-1", nil), (nil, nil),
        ] as [(String?, UUID?)])
    func namesCaller(header: String?, subscription: UUID?) async {
        let body = #"{"deltas":{"session_count":1},"properties":{"last_active":1800000000}}"#
        #expect(await send("PATCH", "\(Self.users)/by/external_id/fan-1", body, subscription: header).status == 202)
        #expect(api.ports.with { $0.userChanges.last?.subscription } == .some(subscription))
        let known = #"{"identity":{"external_id":"fan-1"},"properties":{"last_active":1800000000}}"#
        #expect(await send("POST", Self.users, known, subscription: header).status == 202)
        #expect(api.ports.with { $0.userChanges.last?.subscription } == .some(subscription))
    }
}
