import Gateway
import HTTP
import JSON
import Testing

@testable import API

@Suite("Broadcasts") struct BroadcastTests {
    private let api = TestAPI()
    private var starts: [StoredBroadcastStart] { api.campaigns.with { $0.starts } }

    @Test("start under an identifier of MoEngage's form, and hand the objects on byte for byte")
    func starts() async throws {
        let response = await api.broadcast("start", Body.broadcastStart.text)
        #expect(response.status == 200, "\(response.text)")
        let start = try #require(starts.first)
        #expect(response.text == #"{"data":{"instance_id":"\#(start.instanceID)","message":"success"}}"#)
        #expect(start.instanceID.wholeMatch(of: /1800000000007-[0-9a-f]{8}/) != nil)
        let command = start.command
        #expect(command.activityID == start.instanceID && command.activityType == "MatchAttributes" && command.name == "Final")
        #expect(command.content.attributes == Array(#"{ "home" : 1.0 }"#.utf8))
        #expect(command.content.contentState == Array(#"{"score":1e2}"#.utf8))
        #expect(command.content.alerts == [LocalizedAlert(language: "en", title: "Goal", body: "1:0")])
        #expect(command.content.priority == 10 && command.content.event == .start && start.dismissalDate == nil)
        #expect(command.content.campaign?.start?.application == FakePorts.application.publicID)
        #expect(api.campaigns.with { $0.admitted } == ["start"])
    }

    @Test("take the caller's identifier, all dates, a subtitle, a sound, and a body that is an object")
    func everything() async throws {
        let alert = Body.broadcastAlert.with("subtitle", #""2nd half""#).with("body", #"{ "loc-key":"GOAL" }"#)
            .with("sound", #""default""#)
        let ios = Body.broadcastStartIOS.with("alert", alert.text).with("dismissal_date", "1800000060")
        let body = Body.broadcastStart.with("ios", ios.text).with("instance_id", #""1749822841120-57c5c617""#)
        let response = await api.broadcast("start", body.text)
        #expect(response.text == #"{"data":{"instance_id":"1749822841120-57c5c617","message":"success"}}"#)
        let start = try #require(starts.first)
        let shown = try #require(start.command.content.alerts.first)
        #expect(shown.subtitle == "2nd half" && shown.body == nil && shown.bodyObject == Array(#"{ "loc-key":"GOAL" }"#.utf8))
        #expect(start.command.content.sound == "default")
        #expect(start.dismissalDate == 1_800_000_060 && start.command.content.dismissalDate == 1_800_000_060)

        let state = Body.broadcastIOS.with("stale_date", "1800000030").with("dismissal_date", "1800000090")
        #expect(await api.broadcast("update", Body.broadcastUpdate.with("ios", state.text).text).status == 200)
        let update = try #require(api.campaigns.with { $0.updates }.first)
        #expect(update.command.content.staleDate == 1_800_000_030 && update.command.content.dismissalDate == 1_800_000_090)
        #expect(update.command.content.event == .update && update.command.activityID == "newest")
        #expect(api.campaigns.with { $0.admitted } == ["start", "update", "update of match"])
    }

    @Test("end at once by an update whose dismissal date has come, and not by one that is still to come")
    func dismissal() async {
        for (date, event) in [("1", ActivityEvent.end), ("1800000000", .end), ("1800000001", .update)] {
            let body = Body.broadcastUpdate.with("ios", Body.broadcastIOS.with("dismissal_date", date).text)
            #expect(await api.broadcast("update", body.text).status == 200)
            #expect(api.campaigns.with { $0.updates.last?.command.content.event } == event, "\(date)")
        }
        let ended = Body.broadcastUpdate.with("ios", Body.broadcastIOS.with("dismissal_date", "1").text)
        #expect(await api.broadcast("end", ended.text).status == 200)
        let start = Body.broadcastStart.with("ios", Body.broadcastStartIOS.with("dismissal_date", "1800000000").text)
        let refused = await api.broadcast("start", start.text)
        #expect(refused.status == 403)
        #expect(refused.text == HTTPResponse.moEngageError("OperationNotAllowed", "Dismissal date is already passed"))
    }

    /// The body, and `code target` of each detail.
    static let wrong: [(Body, [String])] = [
        (
            .broadcastUpdate.with("ios", Body.broadcastIOS.with("alert", Body.broadcastAlert.with("metrics", "1").text).text),
            ["extra_forbidden ios.alert.metrics"]
        ),
        (.broadcastUpdate.with("x", "1").with("ios", nil), ["missing ios", "extra_forbidden x"]),
        (Body([]), ["missing broadcast_live_activity_id", "missing ios"]),
        (.broadcastUpdate.with("ios", "[]"), ["dict_type ios"]), (.broadcastUpdate.with("ios", "null"), ["dict_type ios"]),
        (
            .broadcastUpdate.with("ios", "{}").with("instance_id", "1"),
            ["string_type instance_id", "missing ios.content_state", "missing ios.alert"]
        ),
        (.broadcastUpdate.with("instance_id", #""""#), ["string_too_short instance_id"]),
        (.broadcastUpdate.with("instance_id", #""a/b""#), ["string_pattern_mismatch instance_id"]),
        (.broadcastUpdate.with("instance_id", #""a/\u0301b""#), ["string_pattern_mismatch instance_id"]),
        (
            .broadcastUpdate.with("broadcast_live_activity_id", #""\#(String(repeating: "x", count: 129))""#),
            ["string_too_long broadcast_live_activity_id"]
        ),
        (.broadcastUpdate.with("broadcast_live_activity_id", "null"), ["string_type broadcast_live_activity_id"]),
        (
            .broadcastUpdate.with(
                "ios", Body.broadcastIOS.with("dismissal_date", #""1""#).with("stale_date", "1.5").with("content_state", "1").text
            ),
            ["int_type ios.dismissal_date", "int_from_float ios.stale_date", "dict_type ios.content_state"]
        ),
        (
            .broadcastUpdate.with("ios", Body.broadcastIOS.with("stale_date", "1800000000000").text),
            ["less_than ios.stale_date"]
        ),
        (
            .broadcastUpdate.with("ios", Body.broadcastIOS.with("stale_date", "-1").text),
            ["greater_than_equal ios.stale_date"]
        ),
        (
            .broadcastUpdate.with("ios", Body.broadcastIOS.with("stale_date", "99999999999999999999").text),
            ["int_parsing_size ios.stale_date"]
        ),
        (
            .broadcastUpdate.with(
                "ios", Body.broadcastIOS.with("alert", #"{"title":1,"body":[],"sound":2,"subtitle":3}"#).text),
            [
                "string_type ios.alert.title", "string_type ios.alert.subtitle", "string_type ios.alert.body",
                "dict_type ios.alert.body", "string_type ios.alert.sound",
            ]
        ),
        (
            .broadcastUpdate.with("ios", Body.broadcastIOS.with("attribute_type", #""A""#).text),
            ["extra_forbidden ios.attribute_type"]
        ),
    ]

    @Test("say everything that is wrong with an update or end at once, by its path", arguments: wrong)
    func wrongUpdate(body: Body, details: [String]) async {
        for operation in ["update", "end"] {
            let response = await api.broadcast(operation, body.text)
            #expect(response.status == 400)
            #expect(response.details == details, "\(response.text)")
        }
        #expect(api.campaigns.with { $0.admitted } == [])
    }

    @Test("say in pydantic's words what is wrong") func words() async {
        let ios = Body.broadcastIOS.with("alert", Body.broadcastAlert.with("metrics", "1").text)
        #expect(
            await api.broadcast("update", Body.broadcastUpdate.with("ios", ios.text).text).text
                == #"{"error":{"code":"PayloadError","message":"Mandatory fields are missing or invalid","details":["#
                + #"{"code":"extra_forbidden","target":"ios.alert.metrics","message":"Extra inputs are not permitted"}]}}"#)
        #expect(await api.broadcast("start", "").details == ["json_invalid body"])
        #expect(await api.broadcast("start", "[]").details == ["dict_type body"])
        let start = Body.broadcastStart.with("ios", #"{"stale_date":1}"#)
        #expect(
            await api.broadcast("start", start.text).details == [
                "missing ios.attribute_type", "missing ios.attribute_info", "missing ios.content_state", "missing ios.alert",
                "extra_forbidden ios.stale_date",
            ])
    }

    @Test("keep the answer to a hopeless body small") func bounded() async {
        let many = (0..<500).map { #""x\#($0)":1"# }.joined(separator: ",")
        #expect(await api.broadcast("update", "{\(many)}").details.count == PayloadReader.detailCount)
    }

    /// What the ledger says, and the message.
    static let refusals: [(BroadcastRefusal, String)] = [
        (.unknownCampaign, "Campaign not found for match"), (.duplicate, "Duplicate Request, please use different instance_id"),
        (.notRunning, "Invalid Action"), (.dismissed, "Dismissal date is already passed"),
        (.tooManyInstances, "Max Instances Limit Reached"),
        (.noSigningKey, "Only IOS token auth is allowed, please upload .p8 file"),
        (.unknownAudience, "A segment of the campaign no longer exists"),
    ]

    @Test("are refused with 403 in the specification's words", arguments: refusals)
    func refused(refusal: BroadcastRefusal, message: String) async {
        api.campaigns.with {
            $0.start = .refused(refusal)
            $0.update = .refused(refusal)
        }
        for (operation, body) in [
            ("start", Body.broadcastStart), ("update", .broadcastUpdate), ("end", .broadcastUpdate),
        ] {
            let response = await api.broadcast(operation, body.text)
            #expect(response.status == 403)
            #expect(response.text == HTTPResponse.moEngageError("OperationNotAllowed", message))
        }
    }

    @Test("name the campaign that is not there") func unknownCampaign() async {
        let body = Body.broadcastUpdate.with("broadcast_live_activity_id", #""other""#)
        let response = await api.broadcast("update", body.text)
        #expect(response.text == HTTPResponse.moEngageError("OperationNotAllowed", "Campaign not found for other"))
        #expect(api.campaigns.with { $0.admitted } == ["update"])
    }

    @Test(
        "are refused with 413 beyond what the channel takes, and a start beyond what a device does",
        arguments: [(4_096, nil, nil), (4_097, 4_096, nil), (5_120, 4_096, nil), (5_121, 5_120, 5_120)] as [(Int, Int?, Int?)])
    func tooLarge(byteCount: Int, ofStart: Int?, ofUpdate: Int?) async {
        api.ports.with { $0.bodyByteCount = byteCount }
        let start = await api.broadcast("start", Body.broadcastStart.text)
        let update = await api.broadcast("update", Body.broadcastUpdate.text)
        for (response, limit) in [(start, ofStart), (update, ofUpdate)] {
            #expect(response.status == (limit == nil ? 200 : 413))
            guard let limit else { continue }
            #expect(
                response.text
                    == HTTPResponse.moEngageError(
                        "PayloadSizeError", "Payload size exceeded for IOS. Max size is \(limit) bytes"))
        }
    }

    @Test(
        "are told with 429, an empty list and Retry-After when to come again", arguments: ["start", "update", "update of match"])
    func rateLimited(name: String) async {
        api.campaigns.with { $0.rates[name] = .refused(retryAfterSeconds: 17) }
        let isStart = name == "start"
        let response = await api.broadcast(
            isStart ? "start" : "update", isStart ? Body.broadcastStart.text : Body.broadcastUpdate.text)
        #expect(response.status == 429 && response.text == "[]" && response.headers["retry-after"] == "17")
        #expect(api.campaigns.with { $0.starts.isEmpty && $0.updates.isEmpty })
    }

    @Test("answer every other failure in MoEngage's shape") func failures() async {
        let serverError = HTTPResponse.moEngageError("ServerError", "Internal Server Error, something went wrong")
        api.campaigns.with { $0.start = .overloaded }
        let overloaded = await api.broadcast("start", Body.broadcastStart.text)
        #expect(overloaded.status == 503 && overloaded.text == serverError && overloaded.headers["retry-after"] == "30")
        for (failure, status) in [(StorageError.refused(sqlState: "42P01"), 500), (.unavailable, 503)] {
            api.ports.with { $0.failureBehindDirectory = failure }
            let response = await api.broadcast("update", Body.broadcastUpdate.text)
            #expect(response.status == status && response.text == serverError)
        }
        let unknown = await api.send("POST", "/v1.0/live-activity/broadcast/pause")
        #expect(unknown.status == 404)
        #expect(unknown.text == HTTPResponse.moEngageError("NotFound", "There is no such route."))
        let method = await api.send("GET", "/v1.0/live-activity/broadcast/start")
        #expect(method.status == 405 && method.headers["allow"] == "POST")
        #expect(method.text == HTTPResponse.moEngageError("MethodNotAllowed", "This route takes POST."))
    }
}
