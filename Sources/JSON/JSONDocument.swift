/// A JSON text that is valid by RFC 8259, with an index of where its values lie. A byte order mark before it is passed over.
///
/// Refused beyond the grammar: invalid UTF-8, escapes that make a lone surrogate, and deep nesting. Nothing is
/// converted when parsing: numbers, escapes, white space and the order of members stay as they came.
package struct JSONDocument: Sendable {
    let bytes: [UInt8]
    let entries: [JSONEntry]

    /// Reads a whole text.
    ///
    /// - Parameter depthLimit: how many arrays and objects may lie within each other; 64 by default. Counted without
    ///   recursion, so that no input overflows the stack.
    package init(parsing bytes: [UInt8], depthLimit: Int = 64) throws(JSONError) {
        var scanner = JSONScanner(bytes: bytes, depthLimit: depthLimit)
        try scanner.scan()
        self.bytes = bytes
        self.entries = scanner.entries
    }

    /// The value the text consists of.
    package var root: JSONValue { JSONValue(document: self, index: 0) }
}
