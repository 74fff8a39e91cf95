import APNsSimulator
import Foundation
import HTTP
import JSON
import Security
import TestSupport

/// A response with its body read as JSON.
struct Answer: Sendable {
    let status: Int
    let headers: HTTPHeaders
    let text: String
    var json: JSONValue? { try? JSONDocument(parsing: Array(text.utf8)).root }
    subscript(name: String) -> String? { json?[name]?.string }
    func number(_ name: String) -> Int64? { json?[name]?.integer }
}

/// What app backends, devices and dashboards call.
extension Deployment {
    func send(
        _ method: String, _ path: String, key: String?, body: String = "", version: TestHTTPClient.Version = .http1,
        daemon: RunningProgram? = nil
    ) async throws -> Answer {
        var headers: HTTPHeaders = [:]
        if let key { headers.append("authorization", "Key \(key)") }
        if !body.isEmpty { headers.append("content-type", "application/json") }
        let response = try await client(of: daemon, version: version).send(method, path, headers: headers, body: body)
        return Answer(status: response.status, headers: response.headers, text: response.text)
    }

    // MARK: Backends

    /// Starts an activity; `targeting` is the JSON member that says who gets it.
    func start(
        _ activityID: String, targeting: String = #""included_segments":["All"]"#, more: String = "", app: App? = nil,
        version: TestHTTPClient.Version = .http1, daemon: RunningProgram? = nil
    ) async throws -> Answer {
        let app = app ?? self.app
        return try await send(
            "POST", "/apps/\(app.id)/activities/activity/\(Self.activityType)", key: app.restKey,
            body: """
                {"event":"start","activity_id":"\(activityID)","name":"kick-off","event_attributes":{"home":"A"},\
                "event_updates":{"score":0},"headings":{"en":"Kick-off"},"contents":{"en":"It begins"},\(targeting)\(more)}
                """, version: version, daemon: daemon)
    }

    /// Updates or ends an activity.
    func push(
        _ event: String, _ activityID: String, state: String = #"{"score":1}"#, more: String = "", app: App? = nil,
        daemon: RunningProgram? = nil
    ) async throws -> Answer {
        let app = app ?? self.app
        return try await send(
            "POST", "/apps/\(app.id)/live_activities/\(activityID)/notifications", key: app.restKey,
            body: #"{"event":"\#(event)","name":"\#(event)","event_updates":\#(state)\#(more)}"#, daemon: daemon)
    }

    // MARK: Devices

    /// Sends again what was answered with 503, as devices do: on a busy machine the database may be slow to connect.
    private func sendPatiently(_ path: String, body: String, app: App) async throws -> Answer {
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            let answer = try await send("POST", path, key: app.clientKey, body: body)
            if answer.status != 503 || ContinuousClock.now > deadline { return answer }
        }
    }

    /// Tokens of simulated device number `number`, lower-case hexadecimal.
    static func token(_ kind: String, _ number: Int) -> String {
        let digest = Hexadecimal.encode(SHA256.digest(Array("\(kind) \(number)".utf8)))
        return kind == "device" ? digest : digest + digest + String(digest.prefix(32))
    }

    /// Registers devices with start tokens, some at a time.
    func registerDevices(_ numbers: ClosedRange<Int>, more: String = "", app: App? = nil) async throws {
        let app = app ?? self.app
        try await concurrently(numbers) { number in
            let device = Self.token("device", number)
            let registered = try await self.sendPatiently(
                "/v1/devices",
                body:
                    #"{"push_token":"\#(device)","platform":"ios","environment":"production","external_id":"user-\#(number)"\#(more)}"#,
                app: app)
            let token = try await self.sendPatiently(
                "/v1/live-activities/start-tokens",
                body:
                    #"{"push_token":"\#(device)","activity_type":"\#(Self.activityType)","token":"\#(Self.token("start", number))"}"#,
                app: app)
            return [200, 201].contains(registered.status) && (200...204).contains(token.status)
                ? nil : "device \(number): \(registered.status) \(registered.text), \(token.status) \(token.text)"
        }
    }

    /// Stores devices with start tokens, numbered from 1, past the API: thousands of them in a moment.
    func storeDevices(_ count: Int) async throws {
        try await execute(
            """
            insert into activity_type (app_id, name) select app_id, '\(Self.activityType)' from app;
            insert into device (app_id, push_token, environment)
            select app_id, sha256(convert_to('device ' || n, 'UTF8')), 0 from app, generate_series(1, \(count)) as n;
            insert into start_token (app_id, type_id, device_id, token, service)
            select app_id, type_id, device_id, digest || digest || substring(digest for 16), 0
            from generate_series(1, \(count)) as n,
                lateral (select sha256(convert_to('start ' || n, 'UTF8')) as digest) as hashed,
                device join activity_type using (app_id)
            where device.push_token = sha256(convert_to('device ' || n, 'UTF8'));
            analyze device, start_token;
            """)
    }

    /// Registers update tokens of an activity, as devices that show its card do.
    func registerUpdateTokens(_ numbers: ClosedRange<Int>, activity: String, kind: String = "update") async throws {
        try await concurrently(numbers) { number in
            let answer = try await self.sendPatiently(
                "/v1/live-activities/update-tokens",
                body: """
                    {"push_token":"\(Self.token("device", number))","activity_id":"\(activity)",\
                    "token":"\(Self.token(kind, number))","activity_type":"\(Self.activityType)"}
                    """, app: self.app)
            return answer.status == 200 ? nil : "device \(number): \(answer.status) \(answer.text)"
        }
    }

    func tap(_ number: Int, activity: String, notification: String? = nil) async throws -> Answer {
        let which = notification.map { #","notification_id":"\#($0)""# } ?? ""
        return try await send(
            "POST", "/v1/live-activities/clicks", key: app.clientKey,
            body: #"{"push_token":"\#(Self.token("device", number))","activity_id":"\#(activity)"\#(which)}"#)
    }

    // MARK: Dashboards

    func summary(of notification: String) async throws -> Answer {
        try await send("GET", "/v1/notifications/\(notification)", key: app.readKey)
    }

    /// Asks until the fan-out is finished; each answer takes a round trip, and the bound is generous, for a sanitizer slows everything.
    func waitUntilFinished(_ notification: String) async throws -> Answer {
        let deadline = ContinuousClock.now + .seconds(Sanitizer.isActive ? 240 : 60)
        while true {
            let answer = try await summary(of: notification)
            if answer["state"] == "finished" || ContinuousClock.now > deadline { return answer }
        }
    }

    /// The same while the daemon or its database comes back: no answer and errors count as not yet.
    func waitUntilReachable(_ notification: String) async throws -> Answer {
        let deadline = ContinuousClock.now + .seconds(60)
        while (try? await summary(of: notification).status) != 200, ContinuousClock.now < deadline {}
        return try await waitUntilFinished(notification)
    }

    // MARK: What APNs got

    /// How often each token was pushed, with an event or any.
    func pushes(_ event: PayloadReading.Event? = nil) -> [String: Int] {
        var query = RequestQuery()
        query.event = event
        return simulator.requests(query).reduce(into: [:]) { counts, request in
            counts[Hexadecimal.encode(request.token ?? []), default: 0] += 1
        }
    }

    /// Runs calls some at a time and throws the first complaint.
    func concurrently(
        _ numbers: ClosedRange<Int>, atOnce count: Int = 16, _ call: @escaping @Sendable (Int) async throws -> String?
    ) async throws {
        try await withThrowingTaskGroup(of: String?.self) { group in
            var rest = numbers[...]
            for number in rest.prefix(count) { group.addTask { try await call(number) } }
            rest = rest.dropFirst(count)
            while let complaint = try await group.next() {
                if let complaint { throw RunningProgram.Failure(description: complaint) }
                if let number = rest.popFirst() { group.addTask { try await call(number) } }
            }
        }
    }
}
