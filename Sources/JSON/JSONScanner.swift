/// One value or member name of a document: where its literal lies and where the next sibling is.
struct JSONEntry {
    /// What the literal is.
    enum Kind: UInt8 {
        case object
        case array
        case string
        /// A string that has at least one escape.
        case escapedString
        case number
        case `true`
        case `false`
        case null
    }
    let kind: Kind
    /// The first byte of the literal.
    let start: UInt32
    /// One past the last byte of the literal.
    var end: UInt32
    /// The index of the first entry after this one and everything inside it.
    var next: UInt32
}

/// Reads one RFC 8259 text into a flat list of entries, without recursion.
///
/// A container is followed by the entries of what it holds; each member is its name and then its value.
struct JSONScanner {
    /// Longest text that is read, in bytes; offsets take 32 bits.
    static let byteCountLimit = Int(UInt32.max)

    let bytes: [UInt8]
    let depthLimit: Int
    var position = 0
    var entries: [JSONEntry] = []
    /// The entries of the containers that are open, outermost first; never more than `depthLimit`.
    private var open: [Int] = []

    init(bytes: [UInt8], depthLimit: Int) {
        self.bytes = bytes
        self.depthLimit = depthLimit
    }

    /// What may come next.
    private enum Expectation {
        case value
        case firstElementOrEnd
        case firstNameOrEnd
        case name
        case commaOrEnd
    }

    /// Reads the whole text; nothing but white space may follow the value.
    mutating func scan() throws(JSONError) {
        guard bytes.count < Self.byteCountLimit else { throw JSONError(problem: .tooLarge, offset: 0) }
        // Some clients put a byte order mark before the text. Source: RFC 8259, 8.1, lets parsers pass over it.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        var expectation = Expectation.value
        repeat {
            let byte = try nextSignificantByte()
            switch expectation {
            case .firstElementOrEnd where byte == UInt8(ascii: "]"), .firstNameOrEnd where byte == UInt8(ascii: "}"):
                close()
                expectation = .commaOrEnd
            case .value, .firstElementOrEnd:
                expectation = try scanValue(startingWith: byte)
            case .name, .firstNameOrEnd:
                try scanName(startingWith: byte)
                expectation = .value
            case .commaOrEnd:
                expectation = try scanCommaOrEnd(byte)
            }
        } while !open.isEmpty
        skipWhiteSpace()
        guard position == bytes.count else { throw failure(.trailingBytes) }
    }

    private mutating func scanValue(startingWith byte: UInt8) throws(JSONError) -> Expectation {
        switch byte {
        case UInt8(ascii: "{"):
            try openContainer(.object)
            return .firstNameOrEnd
        case UInt8(ascii: "["):
            try openContainer(.array)
            return .firstElementOrEnd
        case UInt8(ascii: "\""): try scanString()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try scanNumber()
        case UInt8(ascii: "t"): try scanWord("true", .true)
        case UInt8(ascii: "f"): try scanWord("false", .false)
        case UInt8(ascii: "n"): try scanWord("null", .null)
        default: throw failure(.unexpectedByte)
        }
        return .commaOrEnd
    }

    private mutating func scanName(startingWith byte: UInt8) throws(JSONError) {
        guard byte == UInt8(ascii: "\"") else { throw failure(.unexpectedByte) }
        try scanString()
        guard try nextSignificantByte() == UInt8(ascii: ":") else { throw failure(.unexpectedByte) }
        position += 1
    }

    private mutating func scanCommaOrEnd(_ byte: UInt8) throws(JSONError) -> Expectation {
        guard let container = open.last else { throw failure(.trailingBytes) }
        let isObject = entries[container].kind == .object
        switch byte {
        case UInt8(ascii: ","):
            position += 1
            return isObject ? .name : .value
        case isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"):
            close()
            return .commaOrEnd
        default: throw failure(.unexpectedByte)
        }
    }

    private mutating func openContainer(_ kind: JSONEntry.Kind) throws(JSONError) {
        guard open.count < depthLimit else { throw failure(.tooDeep) }
        open.append(entries.count)
        append(kind, from: position, to: position + 1)
        position += 1
    }

    private mutating func close() {
        position += 1
        let container = open.removeLast()
        entries[container].end = UInt32(position)
        entries[container].next = UInt32(entries.count)
    }

    private mutating func scanWord(_ word: StaticString, _ kind: JSONEntry.Kind) throws(JSONError) {
        let start = position
        for expected in word.description.utf8 {
            guard position < bytes.count else { throw failure(.endOfInput) }
            guard bytes[position] == expected else { throw failure(.unexpectedByte) }
            position += 1
        }
        append(kind, from: start, to: position)
    }

    private mutating func scanNumber() throws(JSONError) {
        let start = position
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        if position < bytes.count, bytes[position] == UInt8(ascii: "0") { position += 1 } else { try skipDigits() }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            try skipDigits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            try skipDigits()
        }
        append(.number, from: start, to: position)
    }

    /// Passes over one digit or more.
    private mutating func skipDigits() throws(JSONError) {
        let start = position
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        guard position > start else { throw failure(position == bytes.count ? .endOfInput : .invalidNumber) }
    }

    mutating func append(_ kind: JSONEntry.Kind, from start: Int, to end: Int) {
        entries.append(JSONEntry(kind: kind, start: UInt32(start), end: UInt32(end), next: UInt32(entries.count + 1)))
    }

    private mutating func nextSignificantByte() throws(JSONError) -> UInt8 {
        skipWhiteSpace()
        guard position < bytes.count else { throw failure(.endOfInput) }
        return bytes[position]
    }

    private mutating func skipWhiteSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    func failure(_ problem: JSONError.Problem) -> JSONError { JSONError(problem: problem, offset: position) }
}
