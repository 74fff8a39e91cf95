/// One log line before it becomes text. What it is made of cannot end the line or forge another one, in either form.
struct LogLine {
    /// Longest value written, in UTF-8 bytes before escaping; the rest shows as an ellipsis.
    static let valueByteCount = 1_024

    let time: LogTime
    let level: LogLevel
    let message: String
    let fields: [(name: String, value: String)]

    /// `2026-01-01T00:00:00.000Z warning Something happened key=value other="two words"`.
    var text: String {
        var line = "\(time.text) \(level) \(message)"
        for field in fields {
            let value = Self.cut(field.value)
            line += " \(field.name)="
            if Self.needsQuotes(value) { Self.appendQuoted(value, to: &line) } else { line += value }
        }
        return line
    }

    /// `{"time":"...","level":"warning","message":"...","key":"value"}`.
    var json: String {
        var line = #"{"time":"\#(time.text)","level":"\#(level)","message":"#
        Self.appendQuoted(message, to: &line)
        for field in fields {
            line += #","\#(field.name)":"#
            Self.appendQuoted(Self.cut(field.value), to: &line)
        }
        return line + "}"
    }

    private static func cut(_ value: String) -> String {
        guard value.utf8.count > valueByteCount else { return value }
        var kept = String.UnicodeScalarView()
        var byteCount = 0
        for scalar in value.unicodeScalars {
            byteCount += UTF8.width(scalar)
            guard byteCount <= valueByteCount else { break }
            kept.append(scalar)
        }
        return String(kept) + "…"
    }

    private static func needsQuotes(_ value: String) -> Bool {
        value.isEmpty
            || value.unicodeScalars.contains { $0 == " " || $0 == "\"" || $0 == "=" || $0 == "\\" || mustBeEscaped($0) }
    }

    /// A JSON string; every JSON parser and most people read it.
    private static func appendQuoted(_ value: String, to line: inout String) {
        line += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": line += "\\\""
            case "\\": line += "\\\\"
            case "\n": line += "\\n"
            case "\r": line += "\\r"
            case "\t": line += "\\t"
            default:
                if mustBeEscaped(scalar) {
                    let digits = String(scalar.value, radix: 16)
                    line += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                } else {
                    line.unicodeScalars.append(scalar)
                }
            }
        }
        line += "\""
    }

    /// Control characters, line separators, and the marks that turn text around on a terminal; all below U+10000.
    private static func mustBeEscaped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x2028, 0x2029: true
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}
