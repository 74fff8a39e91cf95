package import JSON

/// Compares values with the schemas of an OpenAPI document: the part of JSON Schema that the document uses. A word it does not know is
/// a complaint too, so that nothing passes for want of being understood.
package struct SchemaChecker {
    private static let silentWords: Set<String> = ["description", "default"]
    private static let uuid = #"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"#
    private static let date = #"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z"#

    private let document: JSONValue

    package init(document: JSONValue) { self.document = document }

    /// What is wrong with a value; nothing when it is as the schema says.
    package func complaints(_ value: JSONValue, _ schema: JSONValue, at place: String = "$") -> [String] {
        schema.members.flatMap { word, operand in
            check(value, word, operand, schema).map { "\(place)\($0.hasPrefix(".") || $0.hasPrefix("[") ? "" : ": ")\($0)" }
        }
    }

    private func check(_ value: JSONValue, _ word: String, _ operand: JSONValue, _ schema: JSONValue) -> [String] {
        switch word {
        case "$ref":
            return reference(operand).map { complaints(value, $0, at: "") } ?? ["\(text(operand)) is not in the document"]
        case "anyOf":
            let results = operand.elements.map { complaints(value, $0, at: "") }
            return results.contains(where: \.isEmpty) ? [] : ["none of \(results)"]
        case "type": return isType(value, operand.string ?? "") ? [] : ["\(text(value)) is no \(text(operand))"]
        case "enum":
            return operand.elements.contains { text($0) == text(value) } ? [] : ["\(text(value)) is none of \(text(operand))"]
        case "format", "pattern": return string(value, word, operand.string ?? "")
        case "minimum": return value.kind != .number || (value.double ?? 0) >= (operand.double ?? 0) ? [] : ["too small"]
        case "maximum": return value.kind != .number || (value.double ?? 0) <= (operand.double ?? 0) ? [] : ["too large"]
        case "minLength": return value.kind != .string || count(value) >= bound(operand) ? [] : ["too short"]
        case "maxLength": return value.kind != .string || count(value) <= bound(operand) ? [] : ["too long"]
        case "minItems": return value.kind != .array || value.count >= bound(operand) ? [] : ["too few"]
        case "maxItems": return value.kind != .array || value.count <= bound(operand) ? [] : ["too many"]
        case "minProperties": return value.kind != .object || value.count >= bound(operand) ? [] : ["too few members"]
        case "items": return value.elements.enumerated().flatMap { complaints($1, operand, at: "[\($0)]") }
        case "required":
            guard value.kind == .object else { return [] }
            return operand.elements.compactMap(\.string).filter { value[$0] == nil }.map { "\($0) is missing" }
        case "properties":
            return operand.members.flatMap { name, schema in
                value[name].map { complaints($0, schema, at: ".\(name)") } ?? []
            }
        case "additionalProperties": return additional(value, operand, known: schema["properties"])
        default: return Self.silentWords.contains(word) ? [] : ["the checker does not know \(word)"]
        }
    }

    private func additional(_ value: JSONValue, _ operand: JSONValue, known: JSONValue?) -> [String] {
        let others = value.members.filter { known?[$0.key] == nil }
        if operand.bool == false { return others.map { "\($0.key) is not described" } }
        return others.flatMap { complaints($0.value, operand, at: ".\($0.key)") }
    }

    private func isType(_ value: JSONValue, _ type: String) -> Bool {
        switch type {
        case "string": value.kind == .string
        case "number": value.kind == .number
        case "integer": value.integer != nil
        case "boolean": value.bool != nil
        case "null": value.isNull
        case "array": value.kind == .array
        case "object": value.kind == .object
        default: false
        }
    }

    private func string(_ value: JSONValue, _ word: String, _ operand: String) -> [String] {
        guard let string = value.string else { return [] }
        let pattern: String
        switch (word, operand) {
        case ("pattern", _): pattern = operand
        case (_, "uuid"): pattern = "^\(Self.uuid)$"
        case (_, "date-time"): pattern = "^\(Self.date)$"
        default: return ["the checker does not know the format \(operand)"]
        }
        guard let expression = try? Regex(pattern) else { return ["\(pattern) is no pattern"] }
        return string.firstMatch(of: expression) == nil ? ["\(string) does not match \(pattern)"] : []
    }

    /// What a reference of the document leads to.
    private func reference(_ operand: JSONValue) -> JSONValue? {
        guard let path = operand.string, path.hasPrefix("#/") else { return nil }
        return path.dropFirst(2).split(separator: "/").reduce(document) { $0?[String($1)] }
    }

    private func bound(_ operand: JSONValue) -> Int { Int(operand.integer ?? 0) }
    private func count(_ value: JSONValue) -> Int { value.string?.unicodeScalars.count ?? 0 }
    private func text(_ value: JSONValue) -> String { String(decoding: value.rawBytes, as: UTF8.self) }
}
