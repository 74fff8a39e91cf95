import HTTP
import JSON
import Security
import TestSupport
import Testing

/// The description that a daemon serves, and what its examples speak of: a device, activities in each state, a notification, segments.
struct Description {
    let operations: [OpenAPIOperation]
    private let gateway: Deployment
    private let checker: SchemaChecker
    /// What stands in the place of identifiers that the daemon made.
    private var identifiers: [String: String] = [:]
    /// Signs tokens of who a user is, as the app's backend does.
    private let identityKey = ES256PrivateKey.generate()

    init(of gateway: Deployment) async throws {
        self.gateway = gateway
        let served = try await gateway.send("GET", "/openapi.json", key: nil)
        let document = try JSONDocument(parsing: Array(served.text.utf8)).root
        checker = SchemaChecker(document: document)
        operations = (document["paths"]?.members ?? []).flatMap { path, methods in
            methods.members.map { OpenAPIOperation(method: $0.key.uppercased(), path: path, node: $0.value) }
        }
        try await prepare()
    }

    // MARK: What the examples speak of

    /// The example of a path's parameter, anywhere.
    private func example(_ parameter: String, of operation: String) throws -> String {
        let node = try #require(operations.first { $0.node["operationId"]?.string == operation }).node
        let found = node["parameters"]?.elements.first { $0["name"]?.string == parameter }
        return try #require(found?["example"]?.string, "\(parameter) of \(operation)")
    }

    private mutating func prepare() async throws {
        let (app, key) = (gateway.app, gateway.app.restKey)
        identifiers[try example("app", of: "startActivity")] = app.id
        identifiers[try example("write_key", of: "readProjectSettings")] = app.clientKey
        let known = try #require(
            operations.first { $0.node["operationId"]?.string == "registerDevice" }?.successes.first { $0.status == 200 })
        let device = try await gateway.send("POST", "/v1/devices", key: key, body: known.body)
        let subscription = try #require(device["subscription_id"], "\(device.text)")
        identifiers[try example("device", of: "readDevice")] = subscription
        let pushToken = try #require(JSONDocument(parsing: Array(known.body.utf8)).root["push_token"]?.string)
        _ = try await gateway.send(
            "POST", "/v1/live-activities/start-tokens", key: key,
            body:
                #"{"push_token":"\#(pushToken)","activity_type":"\#(Deployment.activityType)","token":"\#(Deployment.token("start", 1))"}"#
        )
        var first: String?
        for number in 1...6 {
            let start = try await gateway.start("match-\(number)")
            let id = try #require(start["id"], "\(start.text)")
            #expect(try await gateway.waitUntilFinished(id).number("accepted") == 1)
            first = first ?? id
            // Nobody has seen the fifth yet.
            if number != 5 { try await hold("match-\(number)", pushToken) }
        }
        identifiers[try example("notification", of: "readNotification")] = first
        #expect(try await gateway.push("end", "match-4").status == 201)
        try await gateway.switchChannels()
        let broadcast = try await gateway.start("match-10")
        #expect(try await gateway.waitUntilFinished(broadcast["id"] ?? "").number("accepted") == 1)
        try await gateway.switchChannels("off")
        let left = try await gateway.send(
            "POST", "/v1/live-activities/ends", key: key, body: #"{"push_token":"\#(pushToken)","activity_id":"match-6"}"#)
        #expect(left.status == 204, "\(left.text)")
        let segments = [
            ("First", #","id":"\#(try example("segment", of: "readSegment"))""#),
            ("Second", #","id":"\#(try example("segment", of: "readAppSegment"))""#), ("Taken", ""),
        ]
        for (name, id) in segments {
            let made = try await gateway.send(
                "POST", "/v1/segments", key: key,
                body: #"{"name":"\#(name)","filters":[{"field":"language","relation":"=","value":"de"}]\#(id)}"#)
            #expect(made.status == 201, "\(made.text)")
        }
        try await prepareInstances()
        try await prepareBroadcasts(on: gateway)
        try await prepareUsers(on: gateway, identityKey)
    }

    /// Live notifications of a device of their own: one that runs, one that will be ended, one that has been.
    private mutating func prepareInstances() async throws {
        let key = gateway.app.restKey
        #expect(
            try await gateway.control(
                "app", "set", gateway.app.id, "--live-notifications", "on", "--android-package", "com.example.android"
            ).status == 0)
        let pushToken = Deployment.token("device", 77)
        let calls = [
            (
                "/v1/devices",
                #"{"push_token":"\#(pushToken)","platform":"ios","environment":"production","external_id":"person@example.com"}"#
            ),
            (
                "/v1/live-activities/start-tokens",
                #"{"push_token":"\#(pushToken)","activity_type":"CIOSegmentsAttributes","token":"\#(Deployment.token("start", 77))"}"#
            ),
        ]
        for (path, body) in calls {
            let answer = try await gateway.send("POST", path, key: key, body: body)
            #expect([200, 201].contains(answer.status), "\(answer.text)")
        }
        let start = try #require(operations.first { $0.node["operationId"]?.string == "startLiveNotification" }).successes[0]
        for example in try instanceExamples() {
            let answer = try await gateway.send("POST", start.path, key: key, body: start.body)
            let id = try #require(answer["instance_id"], "\(answer.text)")
            identifiers[example] = id
        }
        let ended = identifiers[try instanceExamples()[2]] ?? ""
        let end = try await gateway.send(
            "POST", "/v1/live_notifications/end", key: key, body: #"{"instance_id":"\#(ended)"}"#)
        #expect(end.status == 200, "\(end.text)")
    }

    /// The identifiers of the examples: of an update, of an end, and of what is over.
    private func instanceExamples() throws -> [String] {
        let update = try #require(operations.first { $0.node["operationId"]?.string == "updateLiveNotification" })
        let end = try #require(operations.first { $0.node["operationId"]?.string == "endLiveNotification" })
        let over = try #require(update.errors.first { $0.body.contains("is ended") })
        return try [update.successes[0], end.successes[0], over.request].map { request in
            try #require(JSONDocument(parsing: Array(request.body.utf8)).root["instance_id"]?.string)
        }
    }

    /// Registers the update token of an activity; that of the sixth is the one of the examples.
    private func hold(_ activity: String, _ pushToken: String) async throws {
        let ended = operations.first { $0.node["operationId"]?.string == "setUpdateToken" }?.errors.first {
            $0.request.status == 409
        }
        let body = try JSONDocument(parsing: Array(try #require(ended).request.body.utf8)).root
        let isEnded = body["activity_id"]?.string == activity
        let token = isEnded ? try #require(body["token"]?.string) : Deployment.token("update \(activity)", 1)
        let answer = try await gateway.send(
            "POST", "/v1/live-activities/update-tokens", key: gateway.app.restKey,
            body: #"{"push_token":"\#(pushToken)","activity_id":"\#(activity)","token":"\#(token)"}"#)
        #expect(answer.status == 200, "\(answer.text)")
    }

    // MARK: Asking

    private func real(_ text: String) -> String {
        identifiers.reduce(text) { $0.split(separator: $1.key, omittingEmptySubsequences: false).joined(separator: $1.value) }
    }

    /// The path with its parameters; those without a value get one of their own.
    func target(_ path: String, _ parameters: [String: String]) -> String {
        let segments = path.split(separator: "/").map { segment in
            segment.hasPrefix("{") ? real(parameters[String(segment.dropFirst().dropLast())] ?? "x") : String(segment)
        }
        return "/" + segments.joined(separator: "/")
    }

    func send(_ request: OpenAPIOperation.Request) async throws -> Answer {
        let app = request.times > 1 ? try await gateway.createApp() : gateway.app
        var parameters = request.parameters
        if request.times > 1 { parameters["app"] = app.id }
        let query = request.query.map { "\($0.name)=\(real($0.value))" }.joined(separator: "&")
        let key = request.key.map { ["rest": app.restKey, "client": app.clientKey, "read": app.readKey][$0] ?? $0 }
        let target = target(request.path, parameters) + (query.isEmpty ? "" : "?\(query)")
        var answer: Answer?
        for _ in 1...request.times {
            // Ten calls a second are few for so many examples: who is told to come again does.
            repeat {
                if let header = request.workspaceHeader {
                    answer = try await gateway.sendBroadcast(target, key: key, header: header, app: app, body: real(request.body))
                } else if let token = try identity(request.key) {
                    answer = try await gateway.send(
                        request.method, target, token: token, clientKey: app.clientKey, body: real(request.body))
                } else {
                    answer = try await gateway.send(request.method, target, key: key, body: real(request.body))
                }
            } while answer?.status == 429 && request.status != 429 && request.times == 1
        }
        return try #require(answer)
    }

    /// The token that an example sends beside a client key; nil for one that sends a key alone.
    private func identity(_ key: String?) throws -> String? {
        switch key {
        case "identity": try Deployment.identityToken(of: "fan-1", app: gateway.app.id, key: identityKey)
        case "malformed_identity": "no.json.token"
        default: nil
        }
    }

    // MARK: Comparing

    /// What of an answer is not as the description says.
    func complaints(_ answer: Answer, _ operation: OpenAPIOperation) -> [String] {
        guard operation.isDescribed(answer.status) else { return ["\(answer.status) is not described"] }
        guard let (type, content) = operation.content(of: answer.status), let schema = content["schema"] else {
            return answer.text.isEmpty ? [] : ["there is a body"]
        }
        let sent = answer.headers["content-type"] ?? "none"
        guard sent == type || sent.hasPrefix("\(type);") else { return ["content-type is \(sent)"] }
        switch type {
        case "application/json":
            guard let json = answer.json else { return ["the body is no JSON"] }
            return checker.complaints(json, schema)
        case "text/event-stream":
            guard let data = content["x-event-data"] else { return ["its events are not described"] }
            let events = answer.text.split(separator: "\n").filter { $0.hasPrefix("data: ") }.map { $0.dropFirst(6) }
            if events.isEmpty { return ["there is no event"] }
            return events.flatMap { event in
                (try? JSONDocument(parsing: Array(event.utf8)).root).map { checker.complaints($0, data) } ?? ["data is no JSON"]
            }
        default: return []
        }
    }
}
