import Gateway
import HTTP
import JSON
import Testing

@testable import API

@Suite("Reading") struct ReadingTests {
    private let api = TestAPI()
    private func read(_ path: String) async -> HTTPResponse { await api.send("GET", "/v1/\(path)", key: .read) }

    private static func summary(event: ActivityEvent, finishedAt: UnixMilliseconds?) -> NotificationSummary {
        NotificationSummary(
            number: FakePorts.accepted.id, publicID: FakePorts.accepted.publicID, event: event, activityID: "match-1",
            activityType: event == .start ? "Game" : nil,
            name: "goal \"1\"", state: finishedAt == nil ? .sending : .finished, targetedCount: 10, acceptedCount: 5,
            failedCount: 2,
            unknownCount: 1, reasons: [(.unregistered, 2)], clickCount: 4, clickedDeviceCount: 3,
            createdAt: UnixMilliseconds(rawValue: 1_772_323_199_007), finishedAt: finishedAt)
    }
    private static let start =
        #"{"id":"\#(TestAPI.identifier)","event":"start","activity_id":"match-1","activity_type":"Game","name":"goal \"1\"","#
        + #""state":"finished","targeted":10,"accepted":5,"failed":2,"unknown":1,"pending":2,"reasons":{"Unregistered":2},"#
        + #""clicks":4,"clicked_devices":3,"unknown_entries":0,"created_at":"2026-02-28T23:59:59.007Z","finished_at":"2026-03-01T00:00:00.000Z"}"#

    @Test("shows a notification with its totals")
    func notification() async {
        api.ports.with { $0.summary = Self.summary(event: .start, finishedAt: UnixMilliseconds(rawValue: 1_772_323_200_000)) }
        let response = await read("notifications/\(TestAPI.identifier.uppercased())")
        #expect(response.status == 200)
        #expect(response.text == Self.start)
    }

    @Test("shows what is not there yet as null")
    func unfinished() async {
        api.ports.with { $0.summary = Self.summary(event: .update, finishedAt: nil) }
        let text = await read("notifications/\(TestAPI.identifier)").text
        #expect(text.contains(#""activity_type":null"#))
        #expect(text.contains(#""state":"sending""#))
        #expect(text.hasSuffix(#""finished_at":null}"#))
    }

    @Test(
        "answers 404 for what the app does not have",
        arguments: [
            "notifications/\(TestAPI.identifier)", "notifications/nonsense", "activities/m", "activities/a%2Fb",
            "activities/\(String(repeating: "a", count: 129))",
        ])
    func unknown(path: String) async {
        let response = await read(path)
        #expect(response.status == 404)
        #expect(response.text.hasPrefix(#"{"detail":""#))
    }

    @Test("lists notifications by page")
    func list() async {
        api.ports.with { $0.page = [Self.summary(event: .start, finishedAt: UnixMilliseconds(rawValue: 1_772_323_200_000))] }
        let response = await read("notifications?activity_id=m%C3%A4tch+1&before=\(TestAPI.identifier)&limit=300")
        #expect(response.status == 200)
        #expect(response.text == #"{"notifications":[\#(Self.start)],"limit":300,"next_cursor":null}"#)
        _ = await read("notifications")
        #expect(api.ports.with { $0.pageRequests } == ["mätch 1 \(TestAPI.identifier) 301", "- - 51"])
    }

    @Test("goes on behind the last notification of a page with its cursor")
    func cursor() async throws {
        let summary = Self.summary(event: .start, finishedAt: nil)
        api.ports.with { $0.page = [summary, summary] }
        let response = await read("notifications?limit=1")
        let cursor = try #require(try JSONDocument(parsing: response.body).root["next_cursor"]?.string)
        _ = await read("notifications?limit=1&cursor=\(cursor)")
        #expect(api.ports.with { $0.pageRequests } == ["- - 2", "- #\(FakePorts.accepted.id) 2"])
        let both = await read("notifications?cursor=\(cursor)&before=\(TestAPI.identifier)")
        #expect(both.status == 400 && both.field == "cursor")
    }

    @Test(
        "names the parameter that is wrong",
        arguments: [
            ("limit=0", "limit"), ("limit=301", "limit"), ("limit=x", "limit"), ("limit=", "limit"),
            ("limit=99999999999999999999", "limit"),
            ("before=x", "before"), ("cursor=x", "cursor"), ("cursor=020000000000000001", "cursor"),
            ("activity_id=", "activity_id"), ("activity_id=a%2Fb", "activity_id"),
            ("activity_id=%FF", "query"), ("offset=10", "offset"), ("limit=10&LIMIT=20", "LIMIT"), ("=1", ""),
        ])
    func malformed(query: String, field: String) async {
        let response = await read("notifications?\(query)")
        #expect(response.status == 400)
        #expect(response.field == field)
        #expect(api.ports.with { $0.pageRequests.isEmpty })
    }

    @Test("answers 400 when before names no notification")
    func unknownBefore() async {
        api.ports.with { $0.page = nil }
        let response = await read("notifications?before=\(TestAPI.identifier)")
        #expect(response.status == 400)
        #expect(response.field == "before")
    }

    @Test("shows an activity with its window", arguments: [(true, "ended"), (false, "active")])
    func activity(isEnded: Bool, state: String) async {
        api.ports.with {
            $0.activity = ActivitySummary(
                activityID: "m", activityType: nil, isEnded: isEnded, deviceCount: 12, startedAt: 1_800_000_000,
                lastNotification: FakePorts.accepted.publicID,
                channels: [ActivityChannel(environment: .sandbox, identifier: "AA==", policy: .mostRecent)])
        }
        let response = await read("activities/m")
        #expect(response.status == 200)
        #expect(
            response.text
                == #"{"activity_id":"m","activity_type":null,"state":"\#(state)","devices":12,"started_at":1800000000,"#
                + #""updates_until":1800028800,"end_until":1800043200,"last_notification_id":"\#(TestAPI.identifier)","#
                + #""channels":[{"environment":"sandbox","channel_id":"AA==","storage":"most_recent"}]}"#)
    }
}
