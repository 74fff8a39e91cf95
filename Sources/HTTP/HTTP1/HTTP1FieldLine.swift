/// Header and trailer lines of HTTP/1 (RFC 9112, 5), read strictly.
enum HTTP1FieldLine {
    /// Splits and checks one line, without its line end.
    ///
    /// - Returns: the name in lower case and the value without white space around it.
    static func parse(_ line: ArraySlice<UInt8>) throws(HTTP1Violation) -> (name: String, value: String) {
        if let first = line.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") { throw .foldedHeader }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { throw .invalidHeaderName }
        let name = line[..<colon]
        guard !name.isEmpty, name.allSatisfy({ HTTPCharacters.isToken($0) }) else { throw .invalidHeaderName }
        let value = withoutOuterSpace(line[(colon + 1)...])
        guard value.allSatisfy({ HTTPCharacters.isFieldValue($0) }) else { throw .invalidHeaderValue }
        return (
            String(decoding: name.map { HTTPCharacters.lowerCased($0) }, as: UTF8.self), String(decoding: value, as: UTF8.self)
        )
    }

    private static func withoutOuterSpace(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var rest = bytes.drop(while: isSpace)
        while let last = rest.last, isSpace(last) { rest.removeLast() }
        return rest
    }
}
