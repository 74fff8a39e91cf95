import Gateway
import HTTP
import Testing

@testable import API

@Suite("Updating and ending a live notification") struct UpdateLiveNotificationTests {
    private static let id = InstanceID("01JZ6Q8W3N4T5V6X7Y8Z9A0B1C")
    private let api: TestAPI
    init() throws {
        api = TestAPI()
        try put(FakeInstances.instance(#require(Self.id)))
    }

    private func put(_ instance: Instance) { api.instances.with { $0.instances[instance.id] = instance } }
    private func send(_ event: String, _ body: Body) async -> HTTPResponse {
        await api.send("POST", "/v1/live_notifications/\(event)", body.text)
    }
    private var updates: [StoredInstanceUpdate] { api.instances.with { $0.updates } }

    @Test("hands the state on byte for byte, and answers the id in upper case", arguments: ["update", "end"])
    func accepted(event: String) async throws {
        let body = Body.liveUpdate.with("instance_id", #""01jz6q8w3n4t5v6x7y8z9a0b1c""#).with("attributes", #"{"b" : 2}"#)
            .with("deep_link", #""app://2""#).with("push_payload", #"{"alert":{"title":"T","body":"B","sound":""}}"#)
            .with("unknown", "1")
        let response = await send(event, body)
        #expect(response.status == 200)
        #expect(response.text == #"{"instance_id":"01JZ6Q8W3N4T5V6X7Y8Z9A0B1C"}"#)
        let update = try #require(updates.first)
        #expect(update.command.content.event.name == event && update.request.instance == Self.id)
        let content = update.command.content
        #expect(content.contentState == Array(#"{ "step" : 2 }"#.utf8) && content.attributes == Array(#"{"b" : 2}"#.utf8))
        #expect(content.instance?.deepLink == "app://2")
        #expect(update.request.alert == InstanceAlert(title: "T", body: "B", sound: nil))
        #expect(update.command.activityID == "01JZ6Q8W3N4T5V6X7Y8Z9A0B1C")
    }

    @Test("ends with the last state when none is given", arguments: [nil, "null", "{}"])
    func endWithoutState(literal: String?) async {
        #expect(await send("end", Body.liveEnd.with("content_state", literal)).status == 200)
        #expect(updates.first?.command.content.contentState == Array(#"{"step":1}"#.utf8))
    }

    @Test("keeps the attributes when an operation has none", arguments: [nil, "null", "{}"])
    func attributes(literal: String?) async {
        #expect(await send("update", Body.liveUpdate.with("attributes", literal)).status == 200)
        #expect(updates.first?.command.content.attributes == Array(#"{"a":1}"#.utf8))
    }

    /// An event, a member, what it is set to, and what is said of it.
    static let wrong: [(String, String, String?, [String])] =
        [
            ("update", "content_state", nil, ["content_state: is required"]),
            ("update", "content_state", "{}", ["content_state: must not be empty"]),
            ("end", "content_state", "[]", ["content_state: must be an object"]),
        ]
        + ["update", "end"].flatMap { event in
            [
                (event, "instance_id", nil, ["instance_id: is required"]),
                (event, "instance_id", "7", ["instance_id: must be a string"]),
                (event, "instance_id", #""""#, ["instance_id: must be a ULID"]),
                (event, "instance_id", #""string""#, ["instance_id: must be a ULID"]),
                (event, "instance_id", #""81JZ6Q8W3N4T5V6X7Y8Z9A0B1C""#, ["instance_id: must be a ULID"]),
                (event, "attributes", "1", ["attributes: must be an object"]),
                (event, "push_payload", #"{"alert":{"body":"B"}}"#, ["push_payload.alert.title: is required"]),
                (event, "deep_link", "{}", ["deep_link: must be a string"]),
            ]
        }

    @Test("names what is wrong with a field", arguments: wrong)
    func refused(event: String, member: String, literal: String?, messages: [String]) async {
        let response = await send(event, Body.liveUpdate.with(member, literal))
        #expect(response.status == 400)
        #expect(response.metaTexts == messages)
        #expect(updates.isEmpty)
    }

    @Test("answers 404 when there is none of that id", arguments: ["update", "end"])
    func unknown(event: String) async {
        let response = await send(event, Body.liveUpdate.with("instance_id", #""00000000000000000000000000""#))
        #expect(response.status == 404)
        #expect(response.metaTexts == ["There is no live notification of this instance_id."])
    }

    @Test("answers 400 in a last state, and says which", arguments: [InstanceState.ended, .expired, .failed])
    func over(state: InstanceState) async throws {
        try put(FakeInstances.instance(#require(Self.id), state: state))
        for event in ["update", "end"] {
            let response = await send(event, .liveUpdate)
            #expect(response.status == 400)
            #expect(
                response.metaTexts == ["instance_id: the live notification is \(state.rawValue) and takes no more operations"])
        }
        // It may also come to its end in between.
        try put(FakeInstances.instance(#require(Self.id)))
        api.instances.with { $0.acceptances = [.over(state)] }
        #expect(await send("update", .liveUpdate).status == 400)
        #expect(updates.isEmpty)
    }

    @Test("answers 429, 400 and 503 as a start does")
    func refusals() async throws {
        api.ports.with { $0.bodyByteCount = 4_097 }
        let tooLarge = await send("update", .liveUpdate)
        #expect(tooLarge.status == 400)
        #expect(tooLarge.metaTexts == ["content_state: the push would have 4097 bytes, at most 4096 are allowed"])
        api.ports.with { $0.bodyByteCount = 0 }
        api.instances.with { $0.acceptances = Array(repeating: .outOfDate, count: 5) }
        let busy = await send("update", .liveUpdate)
        #expect(busy.status == 503)
        #expect(busy.metaTexts == ["The service is temporarily unavailable. Try again."])
        api.instances.with { $0.rate = .refused(retryAfterSeconds: 1) }
        let limited = await send("end", .liveEnd)
        #expect(limited.status == 429)
        #expect(limited.headers["retry-after"] == "1")
        #expect(updates.isEmpty)
    }

    @Test("checks and caps the state by the template of the instance", arguments: ["update", "end"])
    func templates(event: String) async throws {
        try put(FakeInstances.instance(#require(Self.id), type: "io.customer.livenotifications.segments"))
        let response = await send(event, .liveUpdate)
        #expect(response.status == 400)
        #expect(
            response.metaTexts == [
                "content_state.status: is required", "content_state.segmentsTotal: is required",
                "content_state.segmentsComplete: is required",
            ])
        let state = #"{"status":"S","segmentsTotal":3,"segmentsComplete":-1}"#
        #expect(await send(event, Body.liveUpdate.with("content_state", state)).status == 200)
        let shown = Array(#"{"status":"S","segmentsTotal":3,"segmentsComplete":0}"#.utf8)
        #expect(updates.map(\.command.content.contentState) == [shown])
        #expect(updates.first?.request.contentState == updates.first?.command.content.contentState)
    }
}
