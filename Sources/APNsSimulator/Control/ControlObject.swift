import JSON
import Security

/// A JSON object of a control request. Members are taken one by one; one that nobody took is a mistake.
struct ControlObject {
    private let value: JSONValue
    /// Where the object stands, for sentences.
    private let name: String
    private var untaken: Set<String>

    init(_ value: JSONValue, name: String) throws(ControlError) {
        guard value.kind == .object else { throw ControlError("\(name) is not an object") }
        self.value = value
        self.name = name
        untaken = Set(value.members.map(\.key))
    }

    /// The member, unless it is absent or null.
    mutating func take(_ key: String) -> JSONValue? {
        untaken.remove(key)
        guard let member = value[key], !member.isNull else { return nil }
        return member
    }

    mutating func string(_ key: String) throws(ControlError) -> String? {
        guard let member = take(key) else { return nil }
        guard let text = member.string else { throw wrong(key, "text") }
        return text
    }

    mutating func requiredString(_ key: String) throws(ControlError) -> String {
        guard let text = try string(key) else { throw ControlError("\(name).\(key) is missing") }
        return text
    }

    mutating func integer(_ key: String, in range: ClosedRange<Int64>) throws(ControlError) -> Int64? {
        guard let member = take(key) else { return nil }
        guard let number = member.integer, range.contains(number) else { throw wrong(key, "an integer in \(range)") }
        return number
    }

    mutating func bool(_ key: String) throws(ControlError) -> Bool? {
        guard let member = take(key) else { return nil }
        guard let flag = member.bool else { throw wrong(key, "true or false") }
        return flag
    }

    /// A number for a fixed time, or an array of two for a range; in milliseconds up to an hour.
    mutating func milliseconds(_ key: String) throws(ControlError) -> ClosedRange<Int64>? {
        guard let member = take(key) else { return nil }
        let hour: Int64 = 3_600_000
        let bounds = member.kind == .array ? member.elements.map(\.integer) : [member.integer, member.integer]
        guard bounds.count == 2, let low = bounds[0], let high = bounds[1], 0 <= low, low <= high, high <= hour else {
            throw wrong(key, "milliseconds, or two of them in rising order")
        }
        return low...high
    }

    mutating func choice<Choice: RawRepresentable>(_ key: String, _ type: Choice.Type) throws(ControlError) -> Choice?
    where Choice.RawValue == String {
        guard let text = try string(key) else { return nil }
        guard let choice = Choice(rawValue: text) else { throw ControlError("\(name).\(key) cannot be \(text)") }
        return choice
    }

    /// A device token in hexadecimal digits.
    mutating func token(_ key: String) throws(ControlError) -> [UInt8]? {
        guard let text = try string(key) else { return nil }
        guard let token = Hexadecimal.decode(text), !token.isEmpty else { throw wrong(key, "hexadecimal digits") }
        return token
    }

    mutating func strings(_ key: String) throws(ControlError) -> [String]? {
        guard let member = take(key) else { return nil }
        let texts = member.elements.compactMap(\.string)
        guard member.kind == .array, texts.count == member.elements.count else { throw wrong(key, "an array of texts") }
        return texts
    }

    mutating func object(_ key: String) throws(ControlError) -> ControlObject? {
        guard let member = take(key) else { return nil }
        return try ControlObject(member, name: "\(name).\(key)")
    }

    /// The members that are left, as texts by name.
    mutating func remainingStrings() throws(ControlError) -> [(key: String, text: String)] {
        var pairs: [(key: String, text: String)] = []
        for key in value.members.map(\.key) where untaken.contains(key) {
            guard let text = try string(key) else { throw wrong(key, "text") }
            pairs.append((key, text))
        }
        return pairs
    }

    /// Refuses members that nobody took.
    func finish() throws(ControlError) {
        if let key = untaken.min() { throw ControlError("\(name).\(key) is not known") }
    }

    private func wrong(_ key: String, _ expected: String) -> ControlError { ControlError("\(name).\(key) is not \(expected)") }
}
