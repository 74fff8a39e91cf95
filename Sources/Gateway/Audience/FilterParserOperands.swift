import JSON

/// The members of one filter entry. Values may be strings or numbers; null counts as absent.
struct FilterOperands {
    /// Which comparisons a field has.
    struct Comparisons: Sendable {
        let allowed: [Comparison]
        static let any = Comparisons(allowed: [.greater, .less, .equal, .notEqual])
        static let equality = Comparisons(allowed: [.equal, .notEqual])
        static let order = Comparisons(allowed: [.greater, .less])
    }
    /// Most values of `in_array` and `not_in_array`. Source: OneSignal's contract.
    static let arrayCount = 20
    /// Spans of time and distances are below this, in seconds, hours or metres; 1e11 hours are longer than any life of a device.
    static let amountLimit = 1e11

    private let entry: JSONValue
    /// Whether the entry was accepted before; then what would match nobody is let through.
    let isStored: Bool
    init(_ entry: JSONValue, isStored: Bool = false) {
        self.entry = entry
        self.isStored = isStored
    }

    var isObject: Bool { entry.kind == .object }

    /// Checks that the entry has no members but `field`, `relation` and these.
    func only(_ keys: String...) throws(FilterProblem) -> FilterOperands {
        for (key, value) in entry.lastMembers where !value.isNull && key != "field" && key != "relation" && !keys.contains(key) {
            throw .unexpectedKey(key)
        }
        return self
    }

    /// A member as text; a number is the literal as it came.
    func text(_ key: String) throws(FilterProblem) -> String {
        guard let value = entry[key], !value.isNull else { throw .missing(key) }
        guard let text = Self.text(value) else { throw .badValue(key, expected: "a string or a number") }
        return text
    }

    /// Text of 1 to `byteCount` bytes without control characters.
    func bounded(_ key: String, byteCount: Int) throws(FilterProblem) -> String {
        guard let text = try? FieldRule.bounded(try text(key), byteCount: byteCount) else {
            // Says which it is: absent, of the wrong kind, or out of bounds.
            _ = try text(key)
            throw .badValue(key, expected: "1 to \(byteCount) bytes without control characters")
        }
        return text
    }

    func comparison(_ comparisons: Comparisons) throws(FilterProblem) -> Comparison {
        let relation = try text("relation")
        guard let comparison = Comparison(rawValue: relation), comparisons.allowed.contains(comparison) else {
            throw .unknownRelation(relation)
        }
        return comparison
    }

    /// A finite number.
    func number(_ key: String) throws(FilterProblem) -> Double {
        guard let number = Self.literal(try text(key))?.double else { throw .badValue(key, expected: "a number") }
        return number
    }

    /// A span of time or a distance, in the unit of the field: not negative, and small enough for the database to reckon with.
    func amount(_ key: String) throws(FilterProblem) -> Double {
        let number = try number(key)
        guard (0...Self.amountLimit).contains(number) else { throw .badValue(key, expected: "a number from 0 to 1e11") }
        return number
    }

    /// The operands of a location, which has no relation.
    func circle() throws(FilterProblem) -> (center: DeviceLocation, radius: Double) {
        if let relation = entry["relation"], !relation.isNull { throw .unexpectedKey("relation") }
        let latitude = try degrees("lat", limit: DeviceLocation.latitudeLimit, expected: "a number from -90 to 90")
        let longitude = try degrees("long", limit: DeviceLocation.longitudeLimit, expected: "a number from -180 to 180")
        return (DeviceLocation(latitude: latitude, longitude: longitude), try amount("radius"))
    }

    private func degrees(_ key: String, limit: Double, expected: String) throws(FilterProblem) -> Double {
        let number = try number(key)
        guard abs(number) <= limit else { throw .badValue(key, expected: expected) }
        return number
    }

    /// An integer that is not negative.
    func count(_ key: String) throws(FilterProblem) -> Int64 {
        guard let count = Self.literal(try text(key))?.integer, count >= 0 else {
            throw .badValue(key, expected: "a whole number, 0 or more")
        }
        return count
    }

    /// A tag's value, by the rule of those that are stored.
    func tagValue(_ key: String) throws(FilterProblem) -> String {
        guard let value = entry[key], !value.isNull else { throw .missing(key) }
        do throws(FieldProblem) {
            return try FieldRule.tagValue(value)
        } catch {
            guard case .wrongKind = error else {
                throw .badValue(key, expected: "at most \(AdmissionLimits.tagValueByteCount) bytes without NUL")
            }
            throw .badValue(key, expected: "a string, a number, true or false")
        }
    }

    /// A list of tags' values, or a text with commas between them; 1 to 20. Those of a text are trimmed, and none is empty: a comma at its
    /// end is a slip.
    func tagValues(_ key: String) throws(FilterProblem) -> [String] {
        guard let value = entry[key], !value.isNull else { throw .missing(key) }
        let values: [String?] =
            switch value.kind {
            case .array: value.elements.map { try? FieldRule.tagValue($0) }
            // By bytes: a comma and a combining mark behind it are one character.
            case .string:
                (value.string ?? "").utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
                    .map { Self.listed(Substring($0)) }
            default: [try? FieldRule.tagValue(value)]
            }
        let known = values.compactMap(\.self)
        guard !values.isEmpty, values.count <= Self.arrayCount, known.count == values.count else {
            throw .badValue(key, expected: "1 to \(Self.arrayCount) values, as a list or separated by commas")
        }
        return known
    }

    private static func text(_ value: JSONValue) -> String? {
        value.kind == .number ? String(decoding: value.rawBytes, as: UTF8.self) : value.string
    }
    /// A number given as text, by the grammar of JSON.
    private static func literal(_ text: String) -> JSONValue? {
        guard let value = try? JSONDocument(parsing: Array(text.utf8)).root, value.kind == .number else { return nil }
        return value
    }
    /// One value of a text with commas; nil when it is empty or cannot be stored.
    private static func listed(_ text: Substring) -> String? {
        let scalars = text.unicodeScalars.drop(while: \.properties.isWhitespace)
        guard let last = scalars.lastIndex(where: { !$0.properties.isWhitespace }) else { return nil }
        return try? FieldRule.tagValue(String(scalars[...last]))
    }
}

/// What can be wrong with one filter entry. The description is what callers read.
package enum FilterProblem: Error, Hashable, Sendable, CustomStringConvertible {
    case notAnObject
    case missing(String)
    case unexpectedKey(String)
    case unknownField(String)
    case unknownRelation(String)
    case badValue(String, expected: String)
    case unknownOperator
    case leadingOperator
    case trailingOperator
    case doubledOperator

    package var description: String {
        switch self {
        case .notAnObject: "must be an object"
        case .missing(let key): "\(key) is required"
        case .unexpectedKey(let key): "\(FieldError.shortened(key)) is not a key of this filter"
        case .unknownField(let field): "\(FieldError.shortened(field)) is not a known filter field"
        case .unknownRelation(let relation): "\(FieldError.shortened(relation)) is not a relation of this field"
        case .badValue(let key, let expected): "\(key) must be \(expected)"
        case .unknownOperator: "operator must be OR or AND"
        case .leadingOperator: "a list must not begin with an operator"
        case .trailingOperator: "a list must not end with an operator"
        case .doubledOperator: "an operator must not follow another"
        }
    }
}
