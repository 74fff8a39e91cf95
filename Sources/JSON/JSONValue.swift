/// One value of a document: a view of its bytes.
package struct JSONValue: Sendable {
    /// What a value is.
    package enum Kind: Hashable, Sendable {
        case object
        case array
        case string
        case number
        case `true`
        case `false`
        case null
    }

    private let document: JSONDocument
    private let index: Int

    init(document: JSONDocument, index: Int) {
        self.document = document
        self.index = index
    }

    private var entry: JSONEntry { document.entries[index] }

    /// What the value is.
    package var kind: Kind {
        switch entry.kind {
        case .object: .object
        case .array: .array
        case .string, .escapedString: .string
        case .number: .number
        case .true: .true
        case .false: .false
        case .null: .null
        }
    }

    /// The literal exactly as it came, without white space around it.
    package var rawBytes: ArraySlice<UInt8> { document.bytes[Int(entry.start)..<Int(entry.end)] }

    /// The text of a string, escapes resolved; nil for other kinds.
    package var string: String? {
        let contents = Int(entry.start) + 1..<max(Int(entry.end) - 1, Int(entry.start) + 1)
        switch entry.kind {
        case .string: return String(decoding: document.bytes[contents], as: UTF8.self)
        case .escapedString: return JSONEscape.decode(document.bytes, contents)
        default: return nil
        }
    }

    /// A number that is integral and fits 64 bits, however it is written (`10`, `10.0`, `1e1`); nil for all else.
    package var integer: Int64? { entry.kind == .number ? JSONNumber.integer(rawBytes) : nil }

    /// A number as the nearest binary fraction; nil for other kinds and beyond the range of `Double`.
    package var double: Double? {
        guard entry.kind == .number, let value = Double(String(decoding: rawBytes, as: UTF8.self)), value.isFinite else {
            return nil
        }
        return value
    }

    /// `true` or `false`; nil for other kinds.
    package var bool: Bool? {
        switch entry.kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// Whether the value is `null`.
    package var isNull: Bool { entry.kind == .null }

    /// Whether it is an object or array that holds nothing.
    package var isEmpty: Bool { Int(entry.next) == index + 1 }

    /// How many members an object or elements an array has, repeated names included; 0 for other kinds.
    package var count: Int {
        let step = entry.kind == .object ? 1 : 0
        var count = 0
        var child = index + 1 + step
        while child < Int(entry.next) {
            count += 1
            child = Int(document.entries[child].next) + step
        }
        return count
    }

    /// The elements of an array, in order; none for other kinds.
    package var elements: [JSONValue] {
        guard entry.kind == .array else { return [] }
        var elements: [JSONValue] = []
        var child = index + 1
        while child < Int(entry.next) {
            elements.append(JSONValue(document: document, index: child))
            child = Int(document.entries[child].next)
        }
        return elements
    }

    /// The members of an object in the order they came, repeated names included; none for other kinds.
    package var members: [(key: String, value: JSONValue)] {
        guard entry.kind == .object else { return [] }
        var members: [(key: String, value: JSONValue)] = []
        var name = index + 1
        while name < Int(entry.next) {
            let value = JSONValue(document: document, index: name + 1)
            members.append((key: JSONValue(document: document, index: name).string ?? "", value: value))
            name = Int(value.entry.next)
        }
        return members
    }

    /// The members of an object as a map: of each name, told apart by its bytes, the last one, in the order those came.
    package var lastMembers: [(key: String, value: JSONValue)] {
        let members = members
        guard members.count > 1 else { return members }
        var seen: Set<[UInt8]> = []
        return members.reversed().filter { seen.insert(Array($0.key.utf8)).inserted }.reversed()
    }

    /// The member of that name, the last one when it is repeated; nil when there is none or this is no object.
    package subscript(key: String) -> JSONValue? {
        guard entry.kind == .object else { return nil }
        var match: JSONValue?
        var name = index + 1
        while name < Int(entry.next) {
            let value = JSONValue(document: document, index: name + 1)
            if JSONValue(document: document, index: name).isText(key) { match = value }
            name = Int(value.entry.next)
        }
        return match
    }

    /// Whether a string has exactly these scalars.
    private func isText(_ text: String) -> Bool {
        guard entry.kind == .string else { return string.map { $0.utf8.elementsEqual(text.utf8) } ?? false }
        return rawBytes.dropFirst().dropLast().elementsEqual(text.utf8)
    }
}
