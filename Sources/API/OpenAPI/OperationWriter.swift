import Gateway
import HTTP
import JSON

/// Writes one operation of the description.
struct OperationWriter {
    let route: Route
    private var description: RouteDescription { route.description }

    func write(to writer: inout JSONWriter) {
        let description = description
        writer.beginObject()
        writer.member("operationId", route.rawValue)
        writer.key("tags")
        writer.beginArray()
        writer.string(description.area.rawValue)
        writer.endArray()
        writer.member("summary", description.summary)
        writeKeys(to: &writer)
        writeParameters(to: &writer)
        if let body = description.body { write(body, to: &writer) }
        writeAnswers(to: &writer)
        writer.endObject()
    }

    private func writeKeys(to writer: inout JSONWriter) {
        let kinds = KeyKind.allCases.filter { route.allowedKinds.contains($0) }
        writer.key("x-key-kinds")
        writer.beginArray()
        for kind in kinds { writer.string(kind.name) }
        writer.endArray()
        writer.key("security")
        if let header = route.workspaceHeader {
            writer.raw(#"[{"workspace":[]}]"#.utf8)
            writer.member("x-workspace-header", header)
            return
        }
        // Without any of them where the app is open, or the key is in the body.
        let more = route.need != nil ? #",{"identity":[]},{}"# : route.takesEvents ? ",{}" : ""
        writer.raw((kinds.isEmpty ? "[]" : #"[{"authorization":[]},{"header":[]}\#(more)]"#).utf8)
    }

    // MARK: Parameters

    private func writeParameters(to writer: inout JSONWriter) {
        writer.key("parameters")
        writer.beginArray()
        for segment in route.pattern where segment.hasPrefix(":") {
            let parameter = PathParameter(String(segment.dropFirst()), of: route)
            Self.write(
                parameter.name, in: "path", parameter.text, parameter.schema, example: parameter.example, isRequired: true,
                to: &writer)
        }
        for parameter in description.query {
            Self.write(
                parameter.name, in: "query", parameter.text, parameter.schema, example: parameter.example,
                isRequired: parameter.isRequired, to: &writer)
        }
        for field in description.header {
            Self.write(
                field.name, in: "header", field.text, field.schema, example: field.example, isRequired: field.isRequired,
                to: &writer)
        }
        writer.endArray()
    }

    private static func write(
        _ name: String, in place: String, _ text: String, _ schema: Schema, example: String, isRequired: Bool,
        to writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.member("name", name)
        writer.member("in", place)
        writer.member("description", text)
        writer.member("required", isRequired)
        writer.key("schema")
        writer.raw(schema.json.utf8)
        writer.member("example", example)
        writer.endObject()
    }

    // MARK: Body

    private func write(_ body: RouteDescription.Body, to writer: inout JSONWriter) {
        writer.key("requestBody")
        writer.beginObject()
        writer.member("required", true)
        writer.key("content")
        writer.beginObject()
        writer.key("application/json")
        writer.beginObject()
        writer.key("schema")
        writer.raw(body.schema.json.utf8)
        writer.key("examples")
        writer.beginObject()
        for example in body.examples {
            writer.key(example.name)
            writer.beginObject()
            writer.key("value")
            writer.raw(example.json.utf8)
            writer.member("x-status", example.status)
            if !example.path.isEmpty {
                writer.key("x-request")
                writer.beginObject()
                Self.write("path", example.path.map { ($0.key, $0.value) }, to: &writer)
                writer.endObject()
            }
            writer.endObject()
        }
        writer.endObject()
        writer.endObject()
        writer.endObject()
        writer.endObject()
    }

    private static func write(_ name: String, _ values: [(String, String)], to writer: inout JSONWriter) {
        guard !values.isEmpty else { return }
        writer.key(name)
        writer.beginObject()
        for (name, value) in values { writer.member(name, value) }
        writer.endObject()
    }

    // MARK: Answers

    private func writeAnswers(to writer: inout JSONWriter) {
        writer.key("responses")
        writer.beginObject()
        for answer in description.answers {
            writer.key("\(answer.status)")
            writer.beginObject()
            writer.member("description", answer.text)
            Self.write(answer.content, to: &writer)
            writer.endObject()
        }
        let examples = description.errors + CommonErrors.examples(of: route)
        let described = CommonErrors.withoutExample(of: route)
        for status in Set(examples.map(\.refusal.status) + described.map(\.status)).sorted() {
            let texts = described.filter { $0.status == status }.map(\.text)
            let found = examples.filter { $0.refusal.status == status }
            writer.key("\(status)")
            writer.beginObject()
            writer.member("description", texts.first ?? HTTPStatus.reason(status))
            writer.key("content")
            writer.beginObject()
            writer.key("application/json")
            writer.beginObject()
            writer.key("schema")
            writer.raw(route.envelope.schema.json.utf8)
            if !found.isEmpty { write(found, to: &writer) }
            writer.endObject()
            writer.endObject()
            writer.endObject()
        }
        writer.endObject()
    }

    private static func write(_ content: RouteDescription.Answer.Content, to writer: inout JSONWriter) {
        let (type, schema, data): (String, Schema, Schema?)
        switch content {
        case .none: return
        case .json(let body): (type, schema, data) = ("application/json", body, nil)
        case .events(let body): (type, schema, data) = ("text/event-stream", .text, body)
        case .plainText: (type, schema, data) = ("text/plain", .text, nil)
        }
        writer.key("content")
        writer.beginObject()
        writer.key(type)
        writer.beginObject()
        writer.key("schema")
        writer.raw(schema.json.utf8)
        if let data {
            // OpenAPI 3.1 has no word for what an event carries.
            writer.key("x-event-data")
            writer.raw(data.json.utf8)
        }
        writer.endObject()
        writer.endObject()
    }

    private func write(_ examples: [ErrorExample], to writer: inout JSONWriter) {
        writer.key("examples")
        writer.beginObject()
        for example in examples {
            writer.key(example.name)
            writer.beginObject()
            writer.key("value")
            writer.raw(route.envelope.response(for: example.refusal).body)
            writer.key("x-request")
            writer.beginObject()
            if let key = example.key { writer.member("key", key) }
            Self.write("path", example.path.map { ($0.key, $0.value) }, to: &writer)
            Self.write("query", example.query.map { ($0.name, $0.value) }, to: &writer)
            if let body = example.body {
                writer.key("body")
                writer.raw(body.utf8)
            }
            if example.times > 1 { writer.member("times", example.times) }
            writer.endObject()
            writer.endObject()
        }
        writer.endObject()
    }
}
