import Gateway
import HTTP
import JSON
import Networking
import Observability
import Synchronization
import Testing

@testable import API

/// The handler over ports in memory, with the ways tests talk to it.
struct TestAPI: Sendable {
    /// What the handler takes for the time, in seconds since 1970.
    static let now: Int64 = 1_800_000_000
    static let app = "\(FakePorts.application.publicID)"
    static let startPath = "/apps/\(app)/activities/activity/Game"
    static let pushPath = "/apps/\(app)/live_activities/match-1/notifications"
    static let identifier = "\(FakePorts.accepted.publicID)"

    let ports = FakePorts()
    let instances: FakeInstances
    let campaigns: FakeCampaigns
    let metrics = Metrics()
    let log = LogLines()
    let parts = Parts()
    let ticks = Ticks()
    let events: EventHub
    let handler: APIHandler

    /// Log lines in the order they were written.
    final class LogLines: Sendable {
        private let state = Mutex<[String]>([])
        var all: [String] { state.withLock { $0 } }
        func append(_ line: String) { state.withLock { $0.append(line) } }
    }
    /// What the readiness closure says.
    final class Parts: Sendable {
        private let state = Mutex([ReadinessPart(name: "database", isReady: true)])
        var all: [ReadinessPart] {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    /// Where the tickers of all tests run; it lives as long as the process.
    static let loop: EventLoop = {
        do { return try EventLoop.start(name: "api-tests") } catch { preconditionFailure("no event loop: \(error)") }
    }()

    init(eventLimits: EventLimits = EventLimits(), settings: APISettings = APISettings()) {
        let (ports, log, parts, ticks) = (ports, log, parts, ticks)
        instances = FakeInstances(ports: ports)
        campaigns = FakeCampaigns(ports: ports)
        events = EventHub(executor: Self.loop, limits: eventLimits, metrics: metrics, sleep: { _ in await ticks.sleep() })
        handler = APIHandler(
            ports: APIPorts(
                directory: ports, admission: Admission(ledger: ports, renderer: ports, now: { Self.now }), waiter: ports,
                registry: ports, users: ports, channels: ports, taps: ports, segments: ports, audiences: ports,
                renderer: ports, reader: ports, dashboards: ports,
                liveNotifications: LiveNotifications(
                    ledger: instances, renderer: ports, nowMilliseconds: { Self.now * 1_000 + 7 }),
                instances: instances,
                broadcasts: Broadcasts(ledger: campaigns, renderer: ports, nowMilliseconds: { Self.now * 1_000 + 7 }),
                campaigns: Campaigns(ledger: campaigns, channels: campaigns), events: events),
            settings: settings,
            clock: APIClock(now: { Self.now }, sleep: { duration in ports.with { $0.sleeps.append(duration) } }),
            readiness: { parts.all }, metrics: metrics, logger: Logger(level: .debug, sink: { log.append($0) }))
    }

    /// Sends a request; `key` nil sends none.
    func send(_ method: String, _ target: String, _ body: String = "", key: KeyKind? = .rest) async -> HTTPResponse {
        var headers: HTTPHeaders = [:]
        if let key { headers["authorization"] = "Key \(FakePorts.keys[key] ?? "")" }
        return await handler.respond(to: HTTPRequest(method: method, target: target, headers: headers, body: Array(body.utf8)))
    }
}

extension HTTPResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
    /// The strings of `errors`.
    var errorTexts: [String] {
        ((try? JSONDocument(parsing: body))?.root["errors"]?.elements ?? []).compactMap(\.string)
    }
    /// The value of `field`.
    var field: String? { (try? JSONDocument(parsing: body))?.root["field"]?.string }
}

/// A JSON object whose members tests replace, add and remove.
struct Body {
    private var members: [(name: String, literal: String)]
    init(_ members: [(name: String, literal: String)]) { self.members = members }

    /// With the member set to a literal, or without it when that is nil.
    func with(_ name: String, _ literal: String?) -> Body {
        var copy = self
        copy.members.removeAll { $0.name == name }
        if let literal { copy.members.append((name, literal)) }
        return copy
    }
    var text: String { "{\(members.map { "\"\($0.name)\":\($0.literal)" }.joined(separator: ","))}" }

    static let start = Body([
        ("event", #""start""#), ("activity_id", #""match-1""#), ("event_attributes", #"{"home":"A"}"#),
        ("event_updates", #"{"score":1.0}"#), ("name", #""kick-off""#), ("contents", #"{"en":"Go"}"#),
        ("headings", #"{"en":"Game"}"#), ("included_segments", #"["All"]"#),
    ])
    static let update = Body([("event", #""update""#), ("event_updates", #"{"score":1.0}"#), ("name", #""goal""#)])
    static let end = update.with("event", #""end""#)
    static let device = Body([("push_token", #""aB01""#), ("platform", #""ios""#)])
}

extension HTTPResponse {
    private func members(_ name: String) -> [String] {
        ((try? JSONDocument(parsing: body))?.root["errors"]?.elements ?? []).compactMap { $0[name]?.string }
    }
    /// The texts of errors that are objects.
    var errorTitles: [String] { members("title") }
    /// Their codes.
    var errorCodes: [String] { members("code") }
}
