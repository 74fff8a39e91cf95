import Gateway
import HTTP
import Testing

@testable import API

@Suite("Pushing to an activity") struct PushActivityTests {
    private let api = TestAPI()
    private func send(_ body: Body) async -> HTTPResponse { await api.send("POST", TestAPI.pushPath, body.text) }
    private var command: UpdateCommand? { api.ports.with { $0.updates.last } }

    @Test("reads an update without texts as silent")
    func update() async throws {
        #expect(await send(.update.with("contents", #"{"en":"body only"}"#).with("stale_date", "5")).status == 201)
        let command = try #require(command)
        #expect(command.activityID == "match-1")
        #expect(command.name == "goal")
        #expect(command.content.event == .update)
        #expect(command.content.alerts.isEmpty)
        #expect(command.content.attributes == nil)
        #expect(command.content.staleDate == 5)
        #expect(command.content.priority == 10)
    }

    @Test("reads an end with its dismissal date unchanged", arguments: ["1", "1893456000", "99999999999"])
    func end(date: String) async {
        #expect(await send(.end.with("dismissal_date", date)).status == 201)
        #expect(command?.content.event == .end)
        #expect(command?.content.dismissalDate == Int64(date))
    }

    @Test("makes an alert of the headings")
    func alert() async {
        #expect(await send(.update.with("headings", #"{"en":"Goal"}"#).with("sound", #""s.caf""#)).status == 201)
        #expect(command?.content.alerts == [LocalizedAlert(language: "en", title: "Goal", body: nil)])
        #expect(command?.content.sound == "s.caf")
    }

    @Test(
        "names the field that is wrong, and stores nothing",
        arguments: [
            ("event", nil, "event: is required"), ("event", #""start""#, "event: must be \"update\" or \"end\""),
            ("event_updates", nil, "event_updates: is required"), ("event_updates", "{}", "event_updates: must not be empty"),
            ("name", nil, "name: is required"), ("contents", "{}", "contents.en: is required"),
            ("headings", #"{"en":" "}"#, "headings.en: must not be blank"),
            ("contents", #"{"de":"x"}"#, "contents.en: is required"),
            ("stale_date", "1e11", "stale_date: looks like milliseconds"),
            ("dismissal_date", "1", "dismissal_date: is only allowed on an end"),
            ("priority", "9", "priority: must be 5 or 10"), ("ios_relevance_score", "2", "ios_relevance_score: must be"),
            ("idempotency_key", #""6f9619ff-8b86-d011-b42d-00cf4fc964ff""#, "idempotency_key: is not a known key"),
            ("included_segments", #"["All"]"#, "included_segments: is not a known key"),
            ("activity_id", #""x""#, "activity_id: is not a known key"),
            ("event_attributes", "{}", "event_attributes: is not a known key"),
        ] as [(String, String?, String)])
    func names(field: String, literal: String?, beginning: String) async {
        let response = await send(.update.with(field, literal))
        #expect(response.status == 400)
        #expect(response.errorTexts.count == 1)
        #expect(response.errorTexts.first?.hasPrefix(beginning) == true, "\(response.text)")
        #expect(api.ports.with { $0.updates.isEmpty && $0.admittedCalls == 0 })
    }

    @Test("wants a dismissal date in seconds", arguments: ["100000000000", "1.5", "-1", "1e19", "\"1\""])
    func dismissalDate(literal: String) async {
        let response = await send(.end.with("dismissal_date", literal))
        #expect(response.status == 400)
        #expect(response.errorTexts.first?.hasPrefix("dismissal_date: ") == true)
    }

    @Test("takes the activity of the path, decoded")
    func path() async {
        let path = "/apps/\(TestAPI.app)/live_activities/m%C3%A4tch%201/notifications"
        #expect(await api.send("POST", path, Body.end.text).status == 201)
        #expect(command?.activityID == "mätch 1")
        let slash = await api.send("POST", "/apps/\(TestAPI.app)/live_activities/a%2Fb/notifications", Body.end.text)
        #expect(slash.status == 400)
        #expect(slash.errorTexts == ["activity_id: must not contain /"])
    }

    @Test(
        "answers 201 once a push was accepted, when a newer state goes out instead, and when that takes too long",
        arguments: [FirstAcceptance.accepted, .overtaken, .timedOut])
    func created(acceptance: FirstAcceptance) async {
        api.ports.with { $0.firstAcceptance = acceptance }
        let response = await send(.update)
        #expect(response.status == 201)
        #expect(response.text == #"{"id":"\#(TestAPI.identifier)","notification_id":"\#(TestAPI.identifier)"}"#)
        #expect(api.ports.with { $0.timeouts } == [.seconds(5)])
    }

    @Test("answers 404 when nobody was reached, with a text of its own for each reason")
    func notFound() async {
        var texts: Set<String> = []
        for acceptance in [UpdateAcceptance.unknownActivity, .ended, .nobody, .accepted(FakePorts.accepted)] {
            api.ports.with {
                $0.update = acceptance
                $0.firstAcceptance = .reachedNobody
            }
            let response = await send(.end)
            #expect(response.status == 404)
            #expect(response.errorTexts.count == 1)
            texts.insert(response.text)
        }
        #expect(texts.count == 4)
    }

    @Test("answers 429 and the size as a start does")
    func shared() async {
        api.ports.with { $0.bodyByteCount = 5000 }
        #expect(await send(.end).errorTexts == ["event_updates: the push would have 5000 bytes, at most 4096 are allowed"])
        api.ports.with { $0.rate = .refused(retryAfterSeconds: 1) }
        let response = await send(.update)
        #expect(response.status == 429)
        #expect(response.headers["retry-after"] == "1")
    }
}
