import Gateway
import JSON

/// A JSON Schema, as OpenAPI 3.1 uses them. Objects are closed, unless they say otherwise: what is not described is not there.
struct Schema: Sendable {
    let json: String

    private init(_ json: String) { self.json = json }

    static let text = Schema(#"{"type":"string"}"#)
    static let nonEmptyText = Schema(#"{"type":"string","minLength":1}"#)
    /// 26 digits of Crockford's base 32.
    static let ulid = Schema(#"{"type":"string","pattern":"^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$"}"#)
    static let uuid = Schema(#"{"type":"string","format":"uuid"}"#)
    /// RFC 3339 with milliseconds, in UTC.
    static let date = Schema(#"{"type":"string","format":"date-time"}"#)
    /// A whole number, 0 or more.
    static let count = Schema(#"{"type":"integer","minimum":0}"#)
    /// Seconds since 1970.
    static let seconds = Schema(#"{"type":"integer","minimum":0,"description":"seconds since 1970"}"#)
    static let bool = Schema(#"{"type":"boolean"}"#)
    /// 1 to 128 bytes without control characters.
    static let identifier = Schema(#"{"type":"string","minLength":1,"maxLength":128}"#)
    /// For people.
    static let name = identifier
    /// Bytes of a token, hexadecimal.
    static let token = Schema(#"{"type":"string","pattern":"^([0-9A-Fa-f]{2}){1,200}$"}"#)
    /// A token of APNs', hexadecimal, or of FCM's, a text.
    static let deviceToken = Schema(
        #"{"type":"string","minLength":1,"maxLength":\#(FieldRule.registrationTokenByteCount),"description":"Hexadecimal digits on iOS; FCM's registration token on Android, and on iOS where the app is behind FCM."}"#
    )
    /// An object that the gateway does not look into.
    static let anyObject = Schema(#"{"type":"object","minProperties":1}"#)
    static let anything = Schema("{}")

    static let integer = Schema(#"{"type":"integer"}"#)
    static func integer(_ range: ClosedRange<Int>, default value: Int? = nil) -> Schema {
        let preset = value.map { #","default":\#($0)"# } ?? ""
        return Schema(#"{"type":"integer","minimum":\#(range.lowerBound),"maximum":\#(range.upperBound)\#(preset)}"#)
    }

    static func number(_ range: ClosedRange<Int>) -> Schema {
        Schema(#"{"type":"number","minimum":\#(range.lowerBound),"maximum":\#(range.upperBound)}"#)
    }

    static let latitude = number(-90...90)
    static let longitude = number(-180...180)

    /// One of these texts.
    static func choice(_ values: String...) -> Schema { choice(values) }
    static func choice(_ values: [String]) -> Schema { Schema(#"{"enum":[\#(values.map(quoted).joined(separator: ","))]}"#) }

    /// One of these numbers, or exactly `true` or `false`.
    static func literals(_ values: String...) -> Schema { Schema(#"{"enum":[\#(values.joined(separator: ","))]}"#) }

    static func nullable(_ schema: Schema) -> Schema { any(of: schema, Schema(#"{"type":"null"}"#)) }

    static func any(of schemas: Schema...) -> Schema {
        Schema(#"{"anyOf":[\#(schemas.map(\.json).joined(separator: ","))]}"#)
    }

    static func list(of schema: Schema, _ range: ClosedRange<Int>? = nil) -> Schema {
        let bounds = range.map { #","minItems":\#($0.lowerBound),"maxItems":\#($0.upperBound)"# } ?? ""
        return Schema(#"{"type":"array","items":\#(schema.json)\#(bounds)}"#)
    }

    /// Any names with values of one kind.
    static func map(of schema: Schema) -> Schema { Schema(#"{"type":"object","additionalProperties":\#(schema.json)}"#) }

    /// Exactly these members; those that may be missing come second.
    static func object(_ required: [(String, Schema)], optional: [(String, Schema)] = []) -> Schema {
        let properties = (required + optional).map { "\(quoted($0.0)):\($0.1.json)" }.joined(separator: ",")
        let names = required.map { quoted($0.0) }.joined(separator: ",")
        let needs = required.isEmpty ? "" : ",\"required\":[\(names)]"
        return Schema(#"{"type":"object","properties":{\#(properties)}\#(needs)"# + closing)
    }
    private static let closing = #","additionalProperties":false}"#

    /// These members, and others that nobody looks at; those that may be missing come second.
    static func openObject(_ required: [(String, Schema)], optional: [(String, Schema)] = []) -> Schema {
        Schema(object(required, optional: optional).json.dropLast(Self.closing.utf8.count) + "}")
    }

    /// A schema among the document's components.
    static func named(_ name: String) -> Schema { Schema(##"{"$ref":"#/components/schemas/\##(name)"}"##) }

    private static func quoted(_ text: String) -> String {
        var writer = JSONWriter()
        writer.string(text)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
