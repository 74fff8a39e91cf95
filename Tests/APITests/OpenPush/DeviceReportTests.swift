import Gateway
import HTTP
import Testing

@testable import API

@Suite("Device reports") struct DeviceReportTests {
    private let api = TestAPI()
    private func send(_ method: String, _ path: String, _ body: Body) async -> HTTPResponse {
        await api.send(method, "/v1/live-activities/\(path)", body.text, key: .client)
    }
    private func post(_ path: String, _ body: Body) async -> HTTPResponse { await send("POST", path, body) }

    private static let updateTokenBody = Body([("push_token", #""ab""#), ("activity_id", #""m""#), ("token", #""0C0d""#)])
    private static let startTokenBody = Body([("push_token", #""ab""#), ("activity_type", #""Game""#), ("token", #""0c""#)])
    private static let removalBody = startTokenBody.with("token", nil)
    private static let endBody = updateTokenBody.with("token", nil)

    @Test("keep an update token and tell the window")
    func updateToken() async throws {
        let response = await post(
            "update-tokens", Self.updateTokenBody.with("started_at", "1799999000.0").with("activity_type", #""Game""#))
        #expect(response.status == 200)
        #expect(response.text == #"{"started_at":1799999000,"updates_until":1800027800,"end_until":1800042200}"#)
        let registration = try #require(api.ports.with { $0.updateTokens.last })
        #expect(registration.token == [0x0C, 0x0D])
        #expect(registration.activityType == "Game")
        #expect(registration.startedAt == 1_799_999_000)
    }

    @Test("allow a clock five minutes ahead", arguments: [(300, 200), (301, 400)])
    func skew(seconds: Int64, status: Int) async {
        let response = await post("update-tokens", Self.updateTokenBody.with("started_at", "\(TestAPI.now + seconds)"))
        #expect(response.status == status)
        #expect(response.field == (status == 400 ? "started_at" : nil))
    }

    @Test("are refused for an activity that the device has ended")
    func endedOnDevice() async {
        api.ports.with { $0.isEndedOnDevice = true }
        let response = await post("update-tokens", Self.updateTokenBody)
        #expect(response.status == 409)
        #expect(response.text == #"{"detail":"The device has reported the end of this activity."}"#)
    }

    @Test("keep and remove a start token")
    func startToken() async {
        #expect(await post("start-tokens", Self.startTokenBody).status == 200)
        #expect(api.ports.with { $0.startTokens.map(\.activityType) } == ["Game"])
        let removed = await send("DELETE", "start-tokens", Self.removalBody)
        #expect(removed.status == 204)
        #expect(removed.body.isEmpty)
    }

    @Test("end an activity")
    func end() async { #expect(await post("ends", Self.endBody).status == 204) }

    @Test("are answered 404 when there is nothing of that name")
    func unknown() async {
        api.ports.with {
            $0.isKnown = false
            $0.clicks = [.unknownDevice]
        }
        for (method, path, body) in [
            ("POST", "update-tokens", Self.updateTokenBody), ("POST", "start-tokens", Self.startTokenBody),
            ("DELETE", "start-tokens", Self.removalBody),
            ("POST", "ends", Self.endBody), ("POST", "clicks", Self.endBody),
        ] {
            let response = await send(method, path, body)
            #expect(response.status == 404)
            #expect(response.text.hasPrefix(#"{"detail":""#))
            #expect(response.field == nil)
        }
    }

    @Test(
        "name the field that is wrong",
        arguments: [
            ("POST", "update-tokens", updateTokenBody, "push_token", nil),
            ("POST", "update-tokens", updateTokenBody, "activity_id", #""a/b""#),
            ("POST", "update-tokens", updateTokenBody, "token", "null"),
            ("POST", "update-tokens", updateTokenBody, "token", #""abc""#),
            ("POST", "update-tokens", updateTokenBody, "activity_type", "5"),
            ("POST", "update-tokens", updateTokenBody, "started_at", "1799999000000"),
            ("POST", "update-tokens", updateTokenBody, "x", "1"), ("POST", "start-tokens", startTokenBody, "activity_type", nil),
            ("POST", "start-tokens", startTokenBody, "token", #""""#),
            ("POST", "start-tokens", startTokenBody, "activity_id", #""m""#),
            ("DELETE", "start-tokens", removalBody, "push_token", #""a""#),
            ("DELETE", "start-tokens", removalBody, "activity_type", #""""#),
            ("DELETE", "start-tokens", removalBody, "token", #""0c""#), ("POST", "clicks", endBody, "notification_id", #""x""#),
            ("POST", "clicks", endBody, "activity_id", nil), ("POST", "ends", endBody, "push_token", nil),
            ("POST", "ends", endBody, "x", "null"),
        ] as [(String, String, Body, String, String?)])
    func malformed(method: String, path: String, body: Body, field: String, literal: String?) async {
        let response = await send(method, path, body.with(field, literal))
        #expect(response.status == 400)
        #expect(response.field == field, "\(response.text)")
    }

    @Test("count a tap for the notification that is named, or the latest")
    func click() async {
        let response = await post("clicks", Self.endBody.with("notification_id", "\"\(TestAPI.identifier)\""))
        #expect(response.status == 200)
        #expect(response.text == #"{"notification_id":"\#(TestAPI.identifier)"}"#)
        #expect(await post("clicks", Self.endBody).status == 200)
        #expect(api.ports.with { $0.clickRequests } == [FakePorts.accepted.publicID, nil])
        #expect(api.ports.with { $0.sleeps.isEmpty })
    }

    @Test("wait for a push that is being recorded, two seconds at most")
    func clickWaits() async {
        api.ports.with {
            $0.clicks = [
                .nothingDelivered(fanOutIsOpen: true), .nothingDelivered(fanOutIsOpen: true),
                .counted(notification: FakePorts.accepted.publicID),
            ]
        }
        #expect(await post("clicks", Self.endBody).status == 200)
        #expect(api.ports.with { $0.sleeps } == [.milliseconds(100), .milliseconds(100)])
        api.ports.with {
            $0.clicks = [.nothingDelivered(fanOutIsOpen: true)]
            $0.sleeps = []
        }
        #expect(await post("clicks", Self.endBody).status == 404)
        #expect(api.ports.with { $0.sleeps.reduce(.zero, +) } == .seconds(2))
    }

    @Test("are refused for a second while too many taps wait, or the database is away")
    func refusesTaps() async {
        api.ports.with { $0.areTapsRefused = true }
        let refused = await post("clicks", Self.endBody)
        #expect(refused.status == 503)
        #expect(refused.headers["retry-after"] == "1")
        #expect(refused.text == #"{"detail":"Too many taps wait to be counted. Try again."}"#)
        api.ports.with { $0.failureBehindDirectory = .unavailable }
        #expect(await post("clicks", Self.endBody).status == 503)
    }

    @Test("do not wait when no fan-out is open")
    func clickDoesNotWait() async {
        api.ports.with { $0.clicks = [.nothingDelivered(fanOutIsOpen: false)] }
        #expect(await post("clicks", Self.endBody).status == 404)
        #expect(api.ports.with { $0.sleeps.isEmpty })
    }
}
