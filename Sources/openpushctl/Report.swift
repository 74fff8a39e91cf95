import Gateway
import JSON

/// What a command prints: one line a thing for people, one object for programs.
struct Report {
    /// A value under a name of the JSON object.
    enum Value {
        case text(String)
        case flag(Bool)
        case number(Int64)
        case list([[(String, Value)]])
    }

    /// Members in the order they are printed.
    let members: [(String, Value)]
    /// What a person reads instead.
    let lines: [String]
    /// The exit status; 0 unless the answer is no.
    var status: Int32 = 0

    /// The text for standard output.
    func rendered(asJSON: Bool) -> String {
        guard asJSON else { return lines.joined(separator: "\n") }
        var writer = JSONWriter()
        Self.write(members, to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func write(_ members: [(String, Value)], to writer: inout JSONWriter) {
        writer.beginObject()
        for (name, value) in members {
            switch value {
            case .text(let text): writer.member(name, text)
            case .flag(let flag): writer.member(name, flag)
            case .number(let number): writer.member(name, number)
            case .list(let objects):
                writer.key(name)
                writer.beginArray()
                for object in objects { write(object, to: &writer) }
                writer.endArray()
            }
        }
        writer.endObject()
    }
}
