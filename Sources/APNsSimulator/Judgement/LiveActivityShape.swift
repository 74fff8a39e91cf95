import JSON

/// The checks of one `aps` object of a Live Activity.
struct LiveActivityShape {
    /// How far `timestamp` may lie behind the clock, in seconds: as long as an activity can last, twice.
    static let oldestTimestampSeconds: Int64 = 86_400
    /// How far `timestamp` may lie ahead of the clock, in seconds.
    static let newestTimestampSeconds: Int64 = 3600
    /// First number of seconds that is taken for milliseconds.
    static let millisecondsThreshold: Int64 = 100_000_000_000

    private static let commonKeys: Set<String> = [
        "timestamp", "event", "content-state", "alert", "stale-date", "relevance-score",
    ]
    private static let startKeys: Set<String> = ["attributes-type", "attributes", "input-push-token", "input-push-channel"]
    private static let endKeys: Set<String> = ["dismissal-date"]

    let aps: JSONValue
    let now: Int64
    private(set) var event: PayloadReading.Event?
    private(set) var timestamp: Int64?
    private(set) var errors: [String] = []

    init(aps: JSONValue, now: Int64) {
        self.aps = aps
        self.now = now
    }

    mutating func run() {
        event = aps["event"]?.string.flatMap(PayloadReading.Event.init(rawValue:))
        if event == nil { errors.append("event is not start, update or end") }
        checkTimestamp()
        checkKeys()
        require("content-state", .object)
        if event == .start { checkStart() }
        checkAlert()
        checkDate("stale-date")
        checkDate("dismissal-date")
        if let score = aps["relevance-score"], score.kind != .number { errors.append("relevance-score is not a number") }
    }

    private mutating func checkTimestamp() {
        guard let value = aps["timestamp"] else { return errors.append("timestamp is missing") }
        guard let seconds = value.integer, !value.rawBytes.contains(UInt8(ascii: ".")) else {
            return errors.append("timestamp is not whole seconds")
        }
        timestamp = seconds
        if seconds < now - LiveActivityShape.oldestTimestampSeconds || seconds > now + LiveActivityShape.newestTimestampSeconds {
            errors.append("timestamp is far from now")
        }
    }

    private mutating func checkKeys() {
        var allowed = LiveActivityShape.commonKeys
        if event == .start { allowed.formUnion(LiveActivityShape.startKeys) }
        if event == .end { allowed.formUnion(LiveActivityShape.endKeys) }
        var seen: Set<String> = []
        for (key, _) in aps.members {
            if !seen.insert(key).inserted { errors.append("\(key) comes twice") }
            if !allowed.contains(key) { errors.append("\(key) does not belong to \(event?.rawValue ?? "an unknown event")") }
        }
    }

    private mutating func checkStart() {
        if aps["attributes-type"]?.string?.isEmpty ?? true { errors.append("attributes-type is not a name") }
        require("attributes", .object)
        if aps["alert"] == nil { errors.append("alert is missing") }
        if let value = aps["input-push-token"], value.integer != 1 { errors.append("input-push-token is not 1") }
        if let value = aps["input-push-channel"], value.string?.isEmpty ?? true {
            errors.append("input-push-channel is not an id")
        }
    }

    private mutating func checkAlert() {
        guard let alert = aps["alert"] else { return }
        guard alert.kind == .object else { return errors.append("alert is not an object") }
        for key in ["title", "body"] where !LiveActivityShape.isText(alert[key]) {
            errors.append("alert.\(key) is neither text nor a localisation key")
        }
        if let sound = alert["sound"], sound.string?.isEmpty ?? true { errors.append("alert.sound is not a name") }
    }

    private mutating func checkDate(_ key: String) {
        guard let value = aps[key] else { return }
        guard let seconds = value.double else { return errors.append("\(key) is not a number") }
        if seconds >= Double(LiveActivityShape.millisecondsThreshold) || seconds < 0 { errors.append("\(key) is not in seconds") }
    }

    private mutating func require(_ key: String, _ kind: JSONValue.Kind) {
        guard let value = aps[key] else { return errors.append("\(key) is missing") }
        if value.kind != kind { errors.append("\(key) is not an \(kind)") }
    }

    /// A string, or an object with `loc-key`.
    private static func isText(_ value: JSONValue?) -> Bool {
        guard let value else { return false }
        return value.string.map { !$0.isEmpty } ?? (value["loc-key"]?.string != nil)
    }
}
