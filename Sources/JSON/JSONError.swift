/// Why bytes are not the JSON that is accepted here, and where.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong; never contains anything of the input.
    package enum Problem: String, Sendable {
        case tooDeep = "nested too deeply"
        case tooLarge = "too large"
        case endOfInput = "unexpected end"
        case unexpectedByte = "unexpected character"
        case trailingBytes = "something follows the value"
        case invalidNumber = "invalid number"
        case invalidEscape = "invalid escape"
        case loneSurrogate = "lone surrogate"
        case invalidUTF8 = "invalid UTF-8"
        case controlCharacter = "unescaped control character"
    }
    /// What is wrong.
    package let problem: Problem
    /// The first byte that is wrong, counted from 0.
    package let offset: Int

    package var description: String { "invalid JSON at byte \(offset): \(problem.rawValue)" }
}
