import Gateway
import JSON

/// The conditions of a start, resolved once: what a segment means later does not matter to a fan-out that runs.
///
/// Segments are joined by OR, and so are the branches of each: any number of segments is one list of branches.
struct FrozenAudience: Hashable, Sendable {
    /// A device is in when every condition of any branch holds; a branch without conditions takes everybody.
    let included: [[FilterCondition]]
    /// A device is out when every condition of any of these branches holds.
    let excluded: [[FilterCondition]]

    static let everybody: [[FilterCondition]] = [[]]

    /// Whether there is nothing to check.
    var isEverybody: Bool { excluded.isEmpty && included.contains([]) }
}

/// How a frozen audience is kept in `fan_out.audience`: `{"included":[[condition]],"excluded":[[condition]]}`.
///
/// This is not the filter language of the API, which may grow stricter while a fan-out waits.
extension FrozenAudience {
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for (name, branches) in [("included", included), ("excluded", excluded)] {
            writer.key(name)
            writer.beginArray()
            for branch in branches {
                writer.beginArray()
                for condition in branch { condition.write(to: &writer) }
                writer.endArray()
            }
            writer.endArray()
        }
        writer.endObject()
        return writer.bytes
    }

    /// Nil for what this version does not understand.
    init?(json: [UInt8]) {
        guard let root = try? JSONDocument(parsing: json).root,
            let included = Self.branches(root["included"]), let excluded = Self.branches(root["excluded"])
        else { return nil }
        self.included = included
        self.excluded = excluded
    }

    private static func branches(_ list: JSONValue?) -> [[FilterCondition]]? {
        guard let list, list.kind == .array else { return nil }
        var branches: [[FilterCondition]] = []
        for branch in list.elements {
            var conditions: [FilterCondition] = []
            for element in branch.elements {
                guard let condition = FilterCondition(stored: element) else { return nil }
                conditions.append(condition)
            }
            branches.append(conditions)
        }
        return branches
    }
}

extension FilterCondition {
    /// `[field, relation, operand...]`, all of them strings.
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginArray()
        for text in storedTexts { writer.string(text) }
        writer.endArray()
    }

    private var storedTexts: [String] {
        switch self {
        case .tag(let key, let relation): ["tag", key] + relation.storedTexts
        case .country(let comparison, let value): ["country", comparison.rawValue, value]
        case .countryExists(let exists): ["country", exists ? "exists" : "not_exists"]
        case .language(let comparison, let value): ["language", comparison.rawValue, value]
        case .appVersion(let comparison, let value): ["app_version", comparison.rawValue, value]
        case .sessionCount(let comparison, let value): ["session_count", comparison.rawValue, "\(value)"]
        case .sessionTime(let comparison, let seconds): ["session_time", comparison.rawValue, "\(seconds)"]
        case .within(let metres, let center): ["location", "\(metres)", "\(center.latitude)", "\(center.longitude)"]
        case .lastSession(let comparison, let hours): ["last_session", comparison.rawValue, "\(hours)"]
        case .firstSession(let comparison, let hours): ["first_session", comparison.rawValue, "\(hours)"]
        }
    }

    fileprivate init?(stored: JSONValue) {
        let texts = stored.elements.compactMap(\.string)
        guard texts.count >= 2, texts.count == stored.elements.count else { return nil }
        if texts[0] == "tag" {
            guard texts.count >= 3, let relation = TagRelation(storedTexts: texts[2...]) else { return nil }
            self = .tag(key: texts[1], relation)
            return
        }
        if texts[0] == "country", let exists = ["exists": true, "not_exists": false][texts[1]] {
            self = .countryExists(exists)
            return
        }
        if texts[0] == "location" {
            let numbers = texts.dropFirst().compactMap { Double($0) }
            guard numbers.count == 3, texts.count == 4, abs(numbers[1]) <= DeviceLocation.latitudeLimit,
                abs(numbers[2]) <= DeviceLocation.longitudeLimit
            else { return nil }
            self = .within(metres: numbers[0], of: DeviceLocation(latitude: numbers[1], longitude: numbers[2]))
            return
        }
        guard texts.count == 3, let comparison = Comparison(rawValue: texts[1]) else { return nil }
        switch texts[0] {
        case "country": self = .country(comparison, texts[2])
        case "language": self = .language(comparison, texts[2])
        case "app_version": self = .appVersion(comparison, texts[2])
        case "session_count":
            guard let count = Int64(texts[2]) else { return nil }
            self = .sessionCount(comparison, count)
        case "session_time":
            guard let seconds = Double(texts[2]) else { return nil }
            self = .sessionTime(comparison, seconds: seconds)
        case "last_session", "first_session":
            guard let hours = Double(texts[2]) else { return nil }
            self =
                texts[0] == "last_session"
                ? .lastSession(comparison, hoursAgo: hours) : .firstSession(comparison, hoursAgo: hours)
        default: return nil
        }
    }
}

extension TagRelation {
    fileprivate var storedTexts: [String] {
        switch self {
        case .compares(let comparison, let value): [comparison.rawValue, value]
        case .exists: ["exists"]
        case .notExists: ["not_exists"]
        case .timeElapsedGreater(let seconds): ["time_elapsed_gt", "\(seconds)"]
        case .timeElapsedLess(let seconds): ["time_elapsed_lt", "\(seconds)"]
        case .isOneOf(let values): ["in_array"] + values
        case .isNoneOf(let values): ["not_in_array"] + values
        }
    }

    fileprivate init?(storedTexts texts: ArraySlice<String>) {
        guard let relation = texts.first else { return nil }
        let operands = Array(texts.dropFirst())
        switch (relation, operands.count) {
        case ("exists", 0): self = .exists
        case ("not_exists", 0): self = .notExists
        case ("in_array", _): self = .isOneOf(operands)
        case ("not_in_array", _): self = .isNoneOf(operands)
        case ("time_elapsed_gt", 1), ("time_elapsed_lt", 1):
            guard let seconds = Double(operands[0]) else { return nil }
            self = relation == "time_elapsed_gt" ? .timeElapsedGreater(seconds: seconds) : .timeElapsedLess(seconds: seconds)
        case (_, 1):
            guard let comparison = Comparison(rawValue: relation) else { return nil }
            self = .compares(comparison, operands[0])
        default: return nil
        }
    }
}
