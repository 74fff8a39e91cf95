/// Header fields in the order they came or will be sent; names are lower case.
///
/// A message has at most a hundred fields, so a look-up walks the array.
package struct HTTPHeaders: Sendable, Equatable {
    /// One field line. The name is lower case; the value has no white space around it and no control characters but tab.
    package struct Field: Sendable, Equatable {
        package let name: String
        package let value: String
    }

    package private(set) var fields: [Field] = []

    package init() {}

    package var count: Int { fields.count }

    /// The first value of the field called `name`, in any letter case; nil when there is none.
    ///
    /// Setting replaces every field of that name; setting nil removes them.
    package subscript(name: String) -> String? {
        get {
            let name = Self.lowerCased(name)
            return fields.first { $0.name == name }?.value
        }
        set {
            let name = Self.lowerCased(name)
            fields.removeAll { $0.name == name }
            if let newValue { append(name, newValue) }
        }
    }

    /// Every value of the field called `name`, in order.
    package func values(of name: String) -> [String] {
        let name = Self.lowerCased(name)
        return fields.compactMap { $0.name == name ? $0.value : nil }
    }

    /// Adds a field at the end. Control characters in the value become spaces, so that no value can start a new field.
    package mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: Self.lowerCased(name), value: Self.withoutControls(value)))
    }

    /// Adds a field that a parser has already checked and lower-cased.
    mutating func append(checkedName name: String, checkedValue value: String) {
        fields.append(Field(name: name, value: value))
    }

    private static func lowerCased(_ name: String) -> String {
        name.utf8.contains { HTTPCharacters.isUpperCase($0) } ? name.lowercased() : name
    }

    private static func withoutControls(_ value: String) -> String {
        if value.utf8.allSatisfy({ HTTPCharacters.isFieldValue($0) }) { return value }
        return String(decoding: value.utf8.map { HTTPCharacters.isFieldValue($0) ? $0 : UInt8(ascii: " ") }, as: UTF8.self)
    }
}

extension HTTPHeaders: Sequence {
    package func makeIterator() -> IndexingIterator<[Field]> { fields.makeIterator() }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    /// Keeps the order of the literal and its duplicates.
    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name, value) }
    }
}
