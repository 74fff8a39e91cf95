import Testing

@testable import JSON

@Suite("JSON value") struct JSONValueTests {
    private func parse(_ text: String) throws -> JSONValue { try JSONDocument(parsing: Array(text.utf8)).root }
    private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("keeps every literal as it came")
    func rawBytes() throws {
        let state = #"{"a":1,"b":1.0, "c":20.1234,"t":true,"id":9007199254740993,"e":1e2,"n":-0.0,"s":"\u00e9\/"}"#
        let root = try parse(#" {"event_updates" : "# + state + #" , "x":null}"#)
        #expect(root["event_updates"].map { text($0.rawBytes) } == state)
        #expect(root["x"]?.isNull == true)
        #expect(root["event_updates"]?["n"].map { text($0.rawBytes) } == "-0.0")
    }

    @Test(
        "reads exact integers",
        arguments: [
            ("0", 0), ("-0", 0), ("0.000", 0), ("0e999999999999999999999", 0), ("10", 10), ("10.0", 10), ("1e1", 10),
            ("1E+1", 10),
            ("100e-1", 10), ("0.5e1", 5), ("-1.50e2", -150), ("9223372036854775807", .max), ("-9223372036854775808", .min),
            ("9223372036854775808", nil), ("-9223372036854775809", nil), ("1e18", 1_000_000_000_000_000_000), ("1e19", nil),
            ("1e300", nil), ("1.5", nil), ("1e-1", nil), ("1e-999999999999999999999", nil), ("1e999999999999999999999", nil),
            ("99999999999999999999", nil), ("true", nil), ("\"1\"", nil), ("null", nil),
        ] as [(String, Int64?)])
    func integers(literal: String, expected: Int64?) throws { #expect(try parse(literal).integer == expected) }

    @Test(
        "reads binary fractions within their range",
        arguments: [("0.5", 0.5), ("1e300", 1e300), ("1e400", nil), ("-1e400", nil), ("1e-400", 0), ("\"1\"", nil)]
            as [(String, Double?)]
    )
    func doubles(literal: String, expected: Double?) throws { #expect(try parse(literal).double == expected) }

    @Test(
        "resolves escapes",
        arguments: [
            (#""""#, ""), (#""plain é""#, "plain é"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
            (#""\u00e9\u20AC""#, "é€"), (#""a\uD83D\uDE00b""#, "a😀b"), (#""\u0000""#, "\0"),
        ])
    func strings(literal: String, expected: String) throws { #expect(try parse(literal).string == expected) }

    @Test("comes without the byte order mark that some clients put before the text")
    func byteOrderMark() throws {
        let root = try JSONDocument(parsing: [0xEF, 0xBB, 0xBF] + Array(#"{"a":1}"#.utf8)).root
        #expect(root["a"]?.integer == 1)
        #expect(Array(root.rawBytes) == Array(#"{"a":1}"#.utf8))
        #expect(throws: JSONError.self) { try JSONDocument(parsing: [0xEF, 0xBB, 0xBF]) }
        #expect(throws: JSONError.self) { try JSONDocument(parsing: [0xEF, 0xBB, 0xBF, 0xEF, 0xBB, 0xBF] + Array("{}".utf8)) }
    }

    @Test("finds members by their resolved name, the last of equal names")
    func lookup() throws {
        let root = try parse(#"{"a":1,"b":{"a":2},"\u0061":3,"":4}"#)
        #expect(root["a"]?.integer == 3)
        #expect(root[""]?.integer == 4)
        #expect(root["c"] == nil)
        #expect(root["b"]?["a"]?.integer == 2)
        #expect(root.members.map(\.key) == ["a", "b", "a", ""])
        #expect(root.lastMembers.map(\.key) == ["b", "a", ""])
        #expect(root.members.compactMap(\.value.integer) == [1, 3, 4])
    }

    @Test("tells names that differ only in Unicode normalisation apart")
    func normalisation() throws { #expect(try parse("{\"e\u{301}\":1}")["é"] == nil) }

    @Test("lists elements across nested values")
    func elements() throws {
        let root = try parse(#"[[1,[2]],{"a":[3]},4,"x",true,null]"#)
        #expect(root.elements.map(\.kind) == [.array, .object, .number, .string, .true, .null])
        #expect(root.elements.map { text($0.rawBytes) } == ["[1,[2]]", #"{"a":[3]}"#, "4", "\"x\"", "true", "null"])
        #expect(root.members.isEmpty)
        #expect(try parse("{}").isEmpty)
        #expect(try parse(" [ ] ").isEmpty)
        #expect(try !parse("[0]").isEmpty)
    }

    @Test(
        "counts what it holds",
        arguments: [
            ("{}", 0), ("[]", 0), (#"{"a":[1,{"b":2}],"a":{}}"#, 2), ("[[1,2],{},3]", 3), ("1", 0), (#""x""#, 0),
        ])
    func count(text: String, expected: Int) throws { #expect(try parse(text).count == expected) }

    @Test("answers nil for the wrong kind")
    func wrongKind() throws {
        let value = try parse("1")
        #expect(value.string == nil)
        #expect(value.bool == nil)
        #expect(value["a"] == nil)
        #expect(value.elements.isEmpty)
        #expect(try parse("false").bool == false)
    }
}
