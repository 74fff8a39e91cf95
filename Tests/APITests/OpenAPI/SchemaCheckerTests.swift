import JSON
import TestSupport
import Testing

@Suite("Schema checker") struct SchemaCheckerTests {
    private func complaints(_ value: String, _ schema: String) throws -> [String] {
        let document = try JSONDocument(parsing: Array(#"{"components":{"a":{"type":"string"}}}"#.utf8)).root
        return try SchemaChecker(document: document).complaints(
            JSONDocument(parsing: Array(value.utf8)).root, JSONDocument(parsing: Array(schema.utf8)).root)
    }

    @Test(
        "accepts what a schema says, and nothing else",
        arguments: [
            (##"{"$ref":"#/components/a"}"##, #""x""#, "1"), (#"{"type":"integer"}"#, "1.0", "1.5"),
            (#"{"type":"number"}"#, "1.5", #""1""#), (#"{"type":"boolean"}"#, "false", "0"), (#"{"type":"null"}"#, "null", "{}"),
            (#"{"type":"array","items":{"type":"null"},"minItems":1,"maxItems":2}"#, "[null]", "[]"),
            (#"{"type":"array","items":{"type":"null"},"maxItems":2}"#, "[null,null]", "[null,null,null]"),
            (#"{"items":{"type":"null"}}"#, "[]", "[1]"), (#"{"enum":["a",5,true]}"#, "5", "6"),
            (#"{"anyOf":[{"type":"null"},{"type":"string"}]}"#, "null", "1"), (#"{"minimum":0}"#, "0", "-1"),
            (#"{"maximum":10}"#, "10", "11"), (#"{"minLength":1}"#, #""é""#, #""""#), (#"{"maxLength":1}"#, #""é""#, #""ab""#),
            (#"{"pattern":"^([0-9a-f]{2})+$"}"#, #""ab01""#, #""abc""#),
            (#"{"format":"uuid"}"#, #""00000000-0000-4000-8000-000000000000""#, #""0000""#),
            (#"{"format":"date-time"}"#, #""2026-02-28T23:59:59.007Z""#, #""2026-02-28""#),
            (#"{"required":["a"]}"#, #"{"a":1}"#, "{}"), (#"{"properties":{"a":{"type":"null"}}}"#, #"{"b":1}"#, #"{"a":1}"#),
            (#"{"properties":{"a":{}},"additionalProperties":false}"#, #"{"a":1}"#, #"{"b":1}"#),
            (#"{"additionalProperties":{"type":"null"}}"#, #"{"a":null}"#, #"{"a":1}"#),
            (#"{"minProperties":1}"#, #"{"a":1}"#, "{}"),
        ])
    func decides(schema: String, good: String, bad: String) throws {
        #expect(try complaints(good, schema) == [])
        #expect(try complaints(bad, schema).count == 1)
    }

    @Test("complains of words it does not know, and of references that lead nowhere")
    func unknown() throws {
        #expect(try complaints("1", #"{"multipleOf":1}"#) == ["$: the checker does not know multipleOf"])
        #expect(try complaints("1", ##"{"$ref":"#/components/b"}"##).count == 1)
        #expect(try complaints(#""x""#, #"{"format":"email"}"#).count == 1)
    }

    @Test("names the place") func place() throws {
        #expect(
            try complaints(#"{"a":[{"b":1}]}"#, #"{"properties":{"a":{"items":{"properties":{"b":{"type":"null"}}}}}}"#)
                == [#"$.a[0].b: 1 is no "null""#])
    }
}
