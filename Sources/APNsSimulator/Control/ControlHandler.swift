import HTTP
import JSON
import Security

/// Answers control requests: what may be asked of the simulator over HTTP. Errors are 400 `{"error": sentence}`.
///
/// | request | does |
/// |---|---|
/// | `GET /` | addresses of the push listeners, and the certificate to trust |
/// | `POST /tokens` | declares a device token, or an array of them: `token`, `environment`, `state`, `since`, `topic` |
/// | `GET /tokens?token=&limit=` | what was sent to each |
/// | `GET /channels?bundle_id=&environment=` | broadcast channels, and what was sent to each |
/// | `POST /channels`, `DELETE /channels?channel_id=` | a channel of another program with the same key: `bundle_id`, `environment`, `policy` |
/// | `POST /subscriptions` | puts a device on a channel: `token`, `channel_id`, `environment`; or counts devices: `channel_id`, `count` |
/// | `GET /subscriptions?token=` | the channels a device is on, and what it was delivered |
/// | `POST /keys`, `DELETE /keys/ID` | `team_id`, `key_id`, `public_key` (PEM), `environments`, `topics`, `related_key_ids` |
/// | `POST /rules`, `GET /rules`, `DELETE /rules[/ID]` | a rule or an array of them: see `RuleReader` |
/// | `POST /release` | answers held requests: `count`, `token` |
/// | `POST /connections` | `settings`, `goaway`, `stall_ms`, `close` for every open connection, now; `environment` |
/// | `GET /requests?since=&limit=&token=&environment=&event=&operation=&settled=` | what was received; with `wait_ms=&count=` waits for it |
/// | `GET /stats` | sums |
/// | `GET /settings`, `PUT /settings` | see `SettingsReader`; what is not named stays |
/// | `POST /reset` | forgets rules, tokens and records |
/// | `/google/...` | what concerns FCM: see `GoogleControl` |
struct ControlHandler: HTTPHandler {
    /// Requests or tokens shown when the request names no `limit`, and the most it may name.
    static let defaultLimit = 100
    static let largestLimit = 100_000
    /// Longest `wait_ms`.
    static let longestWaitMilliseconds = 600_000

    let simulator: Simulator

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        do {
            return try await route(request)
        } catch let error as ControlError {
            return ControlHandler.failure(400, error.description)
        } catch {
            return ControlHandler.failure(500, "\(error)")
        }
    }

    private func route(_ request: HTTPRequest) async throws -> HTTPResponse {
        let segments = request.pathSegments ?? []
        switch (request.method, segments.first ?? "", segments.count) {
        case ("GET", "", _): return addresses()
        case ("GET", "requests", 1): return try await requests(RequestParameters(request))
        case ("GET", "stats", 1): return StatisticsWriter.response(simulator.statistics)
        case ("GET", "tokens", 1): return try tokens(RequestParameters(request))
        case ("POST", "tokens", 1): return try declareTokens(request)
        case ("GET", "channels", 1): return try channels(request)
        case ("POST", "channels", 1): return try makeChannel(request)
        case ("DELETE", "channels", 1): return try deleteChannel(request)
        case ("POST", "subscriptions", 1): return try subscribe(request)
        case ("GET", "subscriptions", 1): return try subscriptions(RequestParameters(request))
        case ("POST", "keys", 1): return try registerKeys(request)
        case ("DELETE", "keys", 2):
            return simulator.revoke(keyID: segments[1]) ? HTTPResponse(status: 204) : ControlHandler.notFound
        case ("GET", "rules", 1): return rules()
        case ("POST", "rules", 1): return try addRules(request)
        case ("DELETE", "rules", 1):
            simulator.removeRules()
            return HTTPResponse(status: 204)
        case ("DELETE", "rules", 2):
            let found = Int(segments[1]).map { simulator.removeRule($0) } ?? false
            return found ? HTTPResponse(status: 204) : ControlHandler.notFound
        case ("POST", "release", 1): return try await release(request)
        case ("POST", "connections", 1): return try await applyToConnections(request)
        case ("GET", "settings", 1): return ControlHandler.success { SettingsReader.write(simulator.settings, to: &$0) }
        case ("PUT", "settings", 1): return try await changeSettings(request)
        case ("POST", "reset", 1):
            await simulator.reset()
            return HTTPResponse(status: 204)
        case (_, "google", 2...):
            let control = GoogleControl(service: simulator.google)
            return try control.respond(to: request, segments.dropFirst()) ?? ControlHandler.notFound
        default: return ControlHandler.notFound
        }
    }

    // MARK: Instructions

    /// An object or an array of objects.
    private func values(_ request: HTTPRequest) throws -> [JSONValue] {
        let root = try ControlHandler.json(request)
        return root.kind == .array ? root.elements : [root]
    }

    private func declareTokens(_ request: HTTPRequest) throws -> HTTPResponse {
        let now = simulator.core.now(simulator.settings)
        let declarations = try values(request).map { try TokenReader.declaration($0, now: now) }
        simulator.declare(declarations)
        return ControlHandler.success { writer in
            writer.beginObject()
            writer.member("declared", declarations.count)
            writer.endObject()
        }
    }

    private func registerKeys(_ request: HTTPRequest) throws -> HTTPResponse {
        let keys = try values(request).map { try KeyReader.key($0) }
        for key in keys { simulator.register(key) }
        return ControlHandler.success(201) { writer in
            writer.beginObject()
            writer.member("registered", keys.count)
            writer.endObject()
        }
    }

    private func addRules(_ request: HTTPRequest) throws -> HTTPResponse {
        let rules = try values(request).map { try RuleReader.rule($0) }
        guard let numbers = simulator.add(rules) else { throw ControlError("there are too many rules") }
        return ControlHandler.success(201) { writer in
            writer.beginObject()
            writer.key("ids")
            writer.beginArray()
            for number in numbers { writer.integer(number) }
            writer.endArray()
            writer.endObject()
        }
    }

    private func release(_ request: HTTPRequest) async throws -> HTTPResponse {
        var limit = Int.max
        var token: [UInt8]?
        if !request.body.isEmpty {
            var object = try ControlObject(ControlHandler.json(request), name: "release")
            limit = try object.integer("count", in: 0...Int64.max).map { Int($0) } ?? limit
            token = try object.token("token")
            try object.finish()
        }
        let count = await simulator.release(upTo: limit, token: token)
        return ControlHandler.success { writer in
            writer.beginObject()
            writer.member("released", count)
            writer.endObject()
        }
    }

    private func applyToConnections(_ request: HTTPRequest) async throws -> HTTPResponse {
        var object = try ControlObject(ControlHandler.json(request), name: "connections")
        let environment = try object.choice("environment", PushEnvironment.self)
        let effect = try RuleReader.effect(&object)
        try object.finish()
        await simulator.apply(effect, environment: environment)
        return HTTPResponse(status: 204)
    }

    private func changeSettings(_ request: HTTPRequest) async throws -> HTTPResponse {
        let root = try ControlHandler.json(request)
        try await simulator.changeSettings { try SettingsReader.apply(root, to: &$0) }
        return ControlHandler.success { SettingsReader.write(simulator.settings, to: &$0) }
    }
}
