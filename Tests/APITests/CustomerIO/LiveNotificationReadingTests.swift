import Gateway
import HTTP
import JSON
import TestSupport
import Testing

@testable import API

@Suite("Reading live notifications") struct LiveNotificationReadingTests {
    private let api = TestAPI()
    private let id: InstanceID
    private let other: InstanceID
    init() throws {
        id = try #require(InstanceID(Example.instance))
        other = try #require(InstanceID(Example.endedInstance))
    }
    private func get(_ path: String) async -> HTTPResponse { await api.send("GET", "/v1/live_notifications\(path)") }

    @Test("shows the state and the newest delivery, whatever the case of the id")
    func read() async {
        let delivery = FakeInstances.delivery(other, .end, source: .device, status: .failed, failureReason: "BadDeviceToken")
        api.instances.with {
            $0.instances[id] = FakeInstances.instance(
                id, state: .ended, endedAt: TestAPI.now, lastDelivery: delivery, platform: .android)
        }
        let response = await get("/\(Example.instance.lowercased())")
        #expect(response.status == 200)
        #expect(
            response.text
                == #"{"instance_id":"\#(id)","notification_type":"com.example.order","platform":"android","state":"ended","#
                + #""failure_reason":null,"started_at":1799999940,"ended_at":1800000000,"expires_at":1800003600,"#
                + #""last_delivery":{"id":"\#(other)","operation":"end","status":"failed","source":"device","#
                + #""failure_reason":"BadDeviceToken","created_at":1799999995}}"#)
    }

    @Test("says null where there is nothing, and why it failed")
    func nulls() async {
        api.instances.with {
            $0.instances[id] = FakeInstances.instance(id, state: .failed, failureReason: "no eligible device", platform: nil)
        }
        let response = await get("/\(id)")
        #expect(
            response.text
                == #"{"instance_id":"\#(id)","notification_type":"com.example.order","platform":"ios","state":"failed","#
                + #""failure_reason":"no eligible device","started_at":1799999940,"ended_at":null,"expires_at":1800003600,"#
                + #""last_delivery":null}"#)
    }

    @Test("answers 400 to what is no ULID and 404 to what does not exist", arguments: ["", "/deliveries"])
    func unknown(path: String) async {
        for text in ["%7Binstance_id%7D", "x", "0000000000000000000000000I", "80000000000000000000000000"] {
            let response = await get("/\(text)\(path)")
            #expect(response.status == 400)
            #expect(response.metaTexts == ["instance_id: must be a ULID"])
        }
        let response = await get("/\(id)\(path)")
        #expect(response.status == 404)
        #expect(response.metaTexts == ["There is no live notification of this instance_id."])
    }

    @Test("lists the deliveries page by page")
    func deliveries() async throws {
        api.instances.with {
            $0.instances[id] = FakeInstances.instance(id)
            $0.deliveries = InstancePage(
                elements: [FakeInstances.delivery(other, .update, notification: UUID(high: 1, low: 2))], hasMore: true)
        }
        let response = await get("/\(id)/deliveries?limit=1")
        #expect(response.status == 200)
        let cursor = try #require(try JSONDocument(parsing: response.body).root["next_cursor"]?.string)
        #expect(
            response.text
                == #"{"instance_id":"\#(id)","deliveries":[{"id":"\#(other)","operation":"update","status":"sent","source":"api","#
                + #""failure_reason":null,"created_at":1799999995,"notification_id":"\#(UUID(high: 1, low: 2))","delivered":2,"#
                + #""opened":1}],"next_cursor":"\#(cursor)"}"#)
        api.instances.with { $0.deliveries = InstancePage(elements: [], hasMore: false) }
        #expect(await get("/\(id)/deliveries?cursor=\(cursor)").text.hasSuffix(#""deliveries":[],"next_cursor":null}"#))
        #expect(api.instances.with { $0.requests } == ["\(id) - 1", "\(id) \(other) 50"])
    }

    @Test(
        "lists a profile's by each of its names",
        arguments: [
            ("id:u:1", ["external_id:u:1 - 50"]),
            ("id:%CC%811", ["external_id:\u{301}1 - 50"]), ("email:a%2Bb@c", ["email:a+b@c - 50", "external_id:a+b@c - 50"]),
            ("phone:%2B49", ["phone:+49 - 50", "external_id:+49 - 50"]), ("internal:cio_1", ["cio_id:cio_1 - 50"]),
        ])
    func profiles(profile: String, requests: [String]) async {
        let response = await get("?profile=\(profile)")
        #expect(response.status == 200)
        #expect(response.text == #"{"live_notifications":[],"next_cursor":null}"#)
        #expect(api.instances.with { $0.requests } == requests)
    }

    @Test("puts the pages of both names together, the newest first and each once")
    func merged() async throws {
        let ids = try (0..<5).map { try #require(InstanceID("0000000000000000000000000\($0)")) }
        let page = { (numbers: [Int], hasMore: Bool) in
            InstancePage(elements: numbers.map { FakeInstances.instance(ids[$0]) }, hasMore: hasMore)
        }
        api.instances.with {
            $0.pages[AliasReference(label: "email", identifier: "e")] = page([4, 1], true)
            $0.pages[AliasReference(label: "external_id", identifier: "e")] = page([4, 3], false)
        }
        let response = await get("?profile=email:e&limit=2")
        let root = try JSONDocument(parsing: response.body).root
        #expect(root["live_notifications"]?.elements.map { $0["instance_id"]?.string } == ["\(ids[4])", "\(ids[3])"])
        let cursor = try #require(root["next_cursor"]?.string)
        _ = await get("?profile=email:e&limit=2&cursor=\(cursor)")
        #expect(api.instances.with { $0.requests }.suffix(2) == ["email:e \(ids[3]) 2", "external_id:e \(ids[3]) 2"])
    }

    @Test(
        "names what is wrong with the query",
        arguments: [
            ("", ["profile: is required"]),
            ("?profile=me", ["profile: must be LABEL:VALUE with one of the labels id, email, phone, internal"]),
            ("?profile=crm:1", ["profile: must be LABEL:VALUE with one of the labels id, email, phone, internal"]),
            ("?profile=id:", ["profile: must not be empty"]),
            ("?profile=internal:1", ["profile: must be cio_ followed by letters and digits"]),
            ("?profile=id:1&limit=101&x=1", ["limit: must be 1 to 100", "x: is not a known key"]),
            ("?profile=id:1&cursor=aa", ["cursor: must be the next_cursor of a page of this list"]),
        ])
    func wrongQuery(query: String, messages: [String]) async {
        let response = await get(query)
        #expect(response.status == 400)
        #expect(response.metaTexts == messages)
    }

    @Test("lists the notification types, and names one or takes its name away")
    func types() async {
        api.instances.with {
            $0.types = [NotificationType(identifier: "a.b", attributesType: "AB", friendlyName: nil)]
        }
        #expect(
            await get("/types").text
                == #"{"notification_types":[{"identifier":"a.b","attributes_type":"AB","friendly_name":null}]}"#)
        let patch = { (type: String, body: String) in await api.send("PATCH", "/v1/live_notifications/types/\(type)", body) }
        let named = await patch("a.b", #"{"friendly_name":"Orders","x":1}"#)
        #expect(named.status == 200)
        #expect(named.text == #"{"identifier":"a.b","friendly_name":"Orders"}"#)
        #expect(api.instances.with { $0.names["a.b"] } == "Orders")
        #expect(await patch("a.b", #"{"friendly_name":null}"#).text == #"{"identifier":"a.b","friendly_name":null}"#)
        #expect(api.instances.with { $0.names } == ["a.b": nil])
        let unknown = await patch("c.d", #"{"friendly_name":"Orders"}"#)
        #expect(unknown.status == 404)
        #expect(unknown.metaTexts == ["There is no notification type of this identifier."])
        for (body, message) in [
            ("{}", "friendly_name: is required"), (#"{"friendly_name":" "}"#, "friendly_name: must not be blank"),
            (#"{"friendly_name":1}"#, "friendly_name: must be a string"),
        ] {
            let response = await patch("a.b", body)
            #expect(response.status == 400)
            #expect(response.metaTexts == [message])
        }
    }

    @Test("answers 404 on every route while the app has no live notifications, after the key", arguments: routes)
    func notEnabled(route: Route) async {
        api.ports.with { $0.hasLiveNotifications = false }
        let target = "/" + route.pattern.map { $0.hasPrefix(":") ? Example.instance : $0 }.joined(separator: "/")
        let response = await api.send(route.method, target, "no body")
        #expect(response.status == 404)
        #expect(response.text == #"{"meta":{"error":"Live notifications are not enabled for this workspace."}}"#)
        let withoutKey = await api.send(route.method, target, "no body", key: nil)
        #expect(withoutKey.status == 401)
        #expect(withoutKey.metaTexts == ["A valid API key is required."])
    }

    static let routes = Route.allCases.filter { $0.envelope == .meta }

    @Test("describes each route with examples that are answered as it says", arguments: routes)
    func examples(route: Route) async throws {
        let (id, other) = (id, other)
        let ending = try #require(InstanceID(Example.endingInstance))
        let segments = LiveNotificationDescriptions.type
        api.instances.with {
            for id in [id, ending] { $0.instances[id] = FakeInstances.instance(id, type: segments) }
            $0.instances[other] = FakeInstances.instance(other, state: .ended)
            $0.types = [NotificationType(identifier: segments, attributesType: nil, friendlyName: nil)]
        }
        let document = try JSONDocument(parsing: OpenAPIDocument.bytes).root
        let checker = SchemaChecker(document: document)
        let operation = try #require(document["paths"]?[route.template]?[route.method.lowercased()])
        let description = route.description
        let target = { (path: [String: String], query: [(name: String, value: String)]) in
            let segments = route.pattern.map { segment in
                guard segment.hasPrefix(":") else { return segment }
                let name = String(segment.dropFirst())
                return path[name] ?? PathParameter(name, of: route).example
            }
            var items = Dictionary(
                uniqueKeysWithValues: description.query.filter(\.isRequired).map { ($0.name, $0.example) })
            items.merge(query.map { ($0.name, $0.value) }) { $1 }
            return "/" + segments.joined(separator: "/") + "?" + items.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
        }
        let bodies = description.body?.examples ?? [.init("none", 200, "")]
        for example in bodies {
            let response = await api.send(route.method, target(example.path, []), example.json)
            #expect(response.status == example.status, "\(example.name): \(response.text)")
            let schema = try #require(operation["responses"]?["200"]?["content"]?["application/json"]?["schema"])
            #expect(checker.complaints(try JSONDocument(parsing: response.body).root, schema) == [])
        }
        for error in description.errors + CommonErrors.examples(of: route) {
            let key = error.key.map { KeyKind(name: $0) } ?? .rest
            let response = await api.send(
                route.method, target(error.path, error.query), error.body ?? bodies[0].json, key: key)
            #expect(response.status == error.refusal.status, "\(error.name)")
            #expect(response.body == Envelope.meta.response(for: error.refusal).body, "\(error.name): \(response.text)")
        }
    }
}
