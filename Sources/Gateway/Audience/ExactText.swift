/// Text that is told apart by its bytes, as the database does: Swift takes different spellings of one character for equal.
package struct ExactText: Hashable, Comparable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The text as it was spelt.
    package let text: String

    /// Takes any text.
    package init(_ text: String) { self.text = text }
    package init(stringLiteral text: String) { self.text = text }

    package static func == (left: ExactText, right: ExactText) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }
    package static func < (left: ExactText, right: ExactText) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
        // No text has this byte, so that no two texts in a row are hashed like another two.
        hasher.combine(0xFF as UInt8)
    }
    package var description: String { text }
}
