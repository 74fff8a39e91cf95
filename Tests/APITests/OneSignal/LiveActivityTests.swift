import Gateway
import HTTP
import Testing

@testable import API

@Suite("Live Activities of OneSignal's clients") struct LiveActivityTests {
    private let api = TestAPI()
    private static let root = "/apps/\(TestAPI.app)"
    private static let device = TestAPI.identifier
    private static let typeToken = "\(root)/activities/tokens/start/Game/subscriptions/\(device)"
    private static let activityToken = "\(root)/live_activities/match-1/token"
    private static let receipt = "/notifications/\(TestAPI.identifier)/report_received"
    private static let click = "\(root)/live_activities/match-1/click"
    private static let activityTokenBody = Body([
        ("subscription_id", #""\#(device)""#), ("push_token", #""0c0D""#), ("device_type", "0"),
    ])
    private static let report = Body([
        ("app_id", #""\#(TestAPI.app)""#), ("player_id", #""\#(device)""#), ("device_type", "0"),
        ("live_activity_id", #""match-1""#), ("live_activity_type", #""Game""#),
    ])
    private static let clickBody = report.with("click_id", #""11111111-2222-4333-8444-555555555555""#)
    private static let name = DeviceName.subscription(FakePorts.accepted.publicID)

    private func send(_ method: String, _ path: String, _ body: String = "", key: KeyKind? = .client) async -> HTTPResponse {
        await api.send(method, path, body, key: key)
    }

    @Test("keep and remove a start token")
    func typeTokens() async {
        let kept = await send("PUT", Self.typeToken, #"{"activity_token":"0c0D","device_type":0,"sdk":"5"}"#)
        #expect(kept.status == 200 && kept.text == #"{"success":true}"#)
        #expect(api.ports.with { $0.startTokens.map(\.activityType) } == ["Game"])
        #expect(api.ports.with { $0.devices } == [Self.name])
        #expect(await send("DELETE", Self.typeToken).status == 200)
        api.ports.with { $0.isKnown = false }
        let unknown = await send("PUT", Self.typeToken, #"{"activity_token":"0c"}"#)
        #expect(unknown.status == 404 && unknown.errorTexts == ["There is no device of this subscription id."])
        let missing = await send("DELETE", Self.typeToken)
        #expect(missing.status == 404 && missing.errorTexts == ["The device has no start token for this activity type."])
    }

    @Test(
        "are told apart by their type, which may come encoded twice",
        arguments: [("Odd%20Type", "Odd Type"), ("Odd%2520Type", "Odd Type"), ("A%252FB", "A/B"), ("50%25", "50%")])
    func types(segment: String, type: String) async {
        let response = await send(
            "PUT", "\(Self.root)/activities/tokens/start/\(segment)/subscriptions/\(Self.device)", #"{"activity_token":"0c"}"#)
        #expect(response.status == 200)
        #expect(api.ports.with { $0.startTokens.map(\.activityType) } == [type])
    }

    @Test("keep an update token, by a user's path as well, and end an activity")
    func activityTokens() async throws {
        #expect(await send("POST", Self.activityToken, Self.activityTokenBody.text).status == 200)
        let told = try #require(api.ports.with { $0.updateTokens.last })
        #expect(told.device == Self.name && told.activityID == "match-1" && told.token == [0x0C, 0x0D])
        let byUser = "\(Self.root)/users/by/onesignal_id/os-1/live_activities/match-1/token"
        #expect(await send("POST", byUser, Self.activityTokenBody.text).status == 200)
        #expect(api.ports.with { $0.askedAliases } == [DeviceAlias(label: "onesignal_id", identifier: "os-1")])
        api.ports.with { $0.hasAlias = false }
        #expect(await send("POST", byUser, Self.activityTokenBody.text).status == 404, "the device is another user's")
        let byExternalID = "\(Self.root)/users/by/external_id/fan-1/live_activities/match-1/token"
        #expect(await send("POST", byExternalID, Self.activityTokenBody.text).status == 403)
        #expect(api.ports.with { $0.updateTokens.count } == 2)
        #expect(await send("DELETE", "\(Self.activityToken)/\(Self.device)").status == 200)
        api.ports.with { $0.isEndedOnDevice = true }
        #expect(await send("POST", Self.activityToken, Self.activityTokenBody.text).status == 409)
        api.ports.with {
            $0.isKnown = false
            $0.isEndedOnDevice = false
        }
        #expect(await send("POST", Self.activityToken, Self.activityTokenBody.text).status == 404)
        #expect(await send("DELETE", "\(Self.activityToken)/\(Self.device)").status == 404)
    }

    @Test("count a receipt once a device")
    func receipts() async {
        let response = await send("PUT", Self.receipt, Self.report.text)
        #expect(response.status == 200 && response.text == #"{"success":true}"#)
        #expect(
            api.ports.with { $0.taps } == [
                Tap(
                    application: FakePorts.application.id, device: Self.name, activityID: "match-1",
                    notification: FakePorts.accepted.publicID, kind: .receipt)
            ])
    }

    @Test("count a tap once its identifier, with what a tap URL carries")
    func clicks() async throws {
        let body = Self.clickBody.with("notificationId", #""\#(TestAPI.identifier)""#).with("timestamp", #""2026-12-01""#)
        let response = await send("POST", Self.click, body.text)
        #expect(response.status == 200)
        #expect(response.text == #"{"success":true,"notification_id":"\#(TestAPI.identifier)"}"#)
        let tap = try #require(api.ports.with { $0.taps.last })
        #expect(tap.kind == .tap(UUID("11111111-2222-4333-8444-555555555555")))
        #expect(tap.notification == FakePorts.accepted.publicID && tap.device == Self.name)
        #expect(await send("POST", Self.click, Self.clickBody.with("live_activity_id", nil).text).status == 200)
        #expect(api.ports.with { $0.taps.last?.notification } == .some(nil))
    }

    @Test("wait for a push that is still being recorded, and are refused when nothing was delivered")
    func waits() async {
        api.ports.with {
            $0.clicks = [.nothingDelivered(fanOutIsOpen: true), .counted(notification: FakePorts.accepted.publicID)]
        }
        #expect(await send("PUT", Self.receipt, Self.report.text).status == 200)
        #expect(api.ports.with { $0.sleeps.count } == 1)
        api.ports.with { $0.clicks = [.nothingDelivered(fanOutIsOpen: false)] }
        let nothing = await send("POST", Self.click, Self.clickBody.text)
        #expect(nothing.status == 404 && nothing.errorTexts == ["No push of this activity was delivered to the device."])
        api.ports.with { $0.clicks = [.unknownDevice] }
        let unknown = await send("PUT", Self.receipt, Self.report.text)
        #expect(unknown.status == 404 && unknown.errorTexts == ["There is no device of this subscription id."])
        api.ports.with { $0.areTapsRefused = true }
        #expect(await send("POST", Self.click, Self.clickBody.text).status == 503)
    }

    @Test(
        "are refused with every mistake named",
        arguments: [
            ("PUT", typeToken, "{}", ["activity_token: is required"]),
            ("PUT", typeToken, #"{"activity_token":"0c","device_type":1}"#, ["device_type: must be 0 (iOS)"]),
            ("POST", activityToken, "{}", ["subscription_id: is required", "push_token: is required"]),
            (
                "POST", activityToken, #"{"subscription_id":"x","push_token":"0"}"#,
                ["subscription_id: must be a UUID", "push_token: must be hexadecimal digits, an even number of them"]
            ),
            ("POST", "\(root)/live_activities/a%2Fb/token", activityTokenBody.text, ["activity_id: must not contain /"]),
            ("PUT", receipt, "{}", ["app_id: is required", "player_id: is required", "live_activity_id: is required"]),
            ("PUT", "/notifications/x/report_received", report.text, ["notification_id: must be a UUID"]),
            ("POST", click, report.text, ["click_id: is required"]),
            ("POST", click, clickBody.with("live_activity_id", #""other""#).text, ["live_activity_id: must be that of the path"]),
            ("POST", click, clickBody.with("notificationId", #""x""#).text, ["notificationId: must be a UUID"]),
        ])
    func refuses(method: String, path: String, body: String, errors: [String]) async {
        let response = await send(method, path, body)
        #expect(response.status == 400)
        #expect(response.errorTexts == errors)
    }

    @Test("of another app are a 403")
    func otherApp() async {
        let other = #""99999999-bbbb-4ccc-8ddd-eeeeffff0000""#
        #expect(await send("PUT", Self.receipt, Self.report.with("app_id", other).text).status == 403)
        #expect(await send("POST", Self.click, Self.clickBody.with("app_id", other).text).status == 403)
        #expect(api.ports.with { $0.taps.isEmpty })
    }
}
