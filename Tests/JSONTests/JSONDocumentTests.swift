import Testing

@testable import JSON

@Suite("JSON document") struct JSONDocumentTests {
    @Test("accepts what the suite accepts", arguments: SuiteCase.acceptedCases)
    func accepts(suiteCase: SuiteCase) throws {
        let document = try JSONDocument(parsing: suiteCase.bytes)
        #expect(!document.root.rawBytes.isEmpty)
    }

    @Test("refuses what the suite refuses", arguments: SuiteCase.refusedArrayAndNumberCases + SuiteCase.refusedOtherCases)
    func refuses(suiteCase: SuiteCase) {
        #expect(throws: JSONError.self) { try JSONDocument(parsing: suiteCase.bytes) }
    }

    @Test("allows 64 levels and no more")
    func depth() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(try JSONDocument(parsing: nested(64)).root.kind == .array)
        #expect(throws: JSONError(problem: .tooDeep, offset: 64)) { try JSONDocument(parsing: nested(65)) }
        #expect(throws: JSONError(problem: .tooDeep, offset: 2)) { try JSONDocument(parsing: nested(3), depthLimit: 2) }
    }

    @Test("survives a hundred thousand brackets", arguments: ["[", "{\"a\":", "[{\"\":", "]", "}"])
    func brackets(unit: String) {
        let bytes = Array(String(repeating: unit, count: 100_000).utf8)
        #expect(throws: JSONError.self) { try JSONDocument(parsing: bytes) }
    }

    @Test(
        "says what is wrong and where",
        arguments: [
            ("", .endOfInput, 0), ("[1,", .endOfInput, 3), ("1 2", .trailingBytes, 2), ("[1}", .unexpectedByte, 2),
            ("-x", .invalidNumber, 1), ("\"\\q\"", .invalidEscape, 1), ("\"\\uD83D\"", .loneSurrogate, 1),
            ("\"\\uDE00\"", .loneSurrogate, 1), ("\"\\uD83D\\u0041\"", .loneSurrogate, 1), ("\"\n\"", .controlCharacter, 1),
            ("{\"a\" 1}", .unexpectedByte, 5), ("{1:2}", .unexpectedByte, 1), ("tru", .endOfInput, 3),
        ] as [(String, JSONError.Problem, Int)])
    func reports(text: String, problem: JSONError.Problem, offset: Int) {
        #expect(throws: JSONError(problem: problem, offset: offset)) { try JSONDocument(parsing: Array(text.utf8)) }
    }

    @Test(
        "refuses bytes that are not UTF-8",
        arguments: [
            [0xFF], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80], [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xF0, 0x9F, 0x98],
        ] as [[UInt8]])
    func invalidUTF8(sequence: [UInt8]) {
        let quotation = [UInt8(ascii: "\"")]
        #expect(throws: JSONError(problem: .invalidUTF8, offset: 1)) {
            try JSONDocument(parsing: quotation + sequence + quotation)
        }
        #expect(throws: JSONError.self) { try JSONDocument(parsing: quotation + sequence) }
    }

    @Test("never traps on a text that is cut short or changed in one byte")
    func mutations() {
        let text = Array(#" {"a":[1.5e-3,-0,true,false,null,"\uD83D\uDE00 é😀\n"],"b":{"":""}} "#.utf8)
        var refusals = 0
        for index in text.indices {
            if (try? JSONDocument(parsing: Array(text[..<index]))) == nil { refusals += 1 }
            for replacement in [0x00, 0x22, 0x2C, 0x5C, 0x7D, 0x80, 0xFF] as [UInt8] {
                var changed = text
                changed[index] = replacement
                if let document = try? JSONDocument(parsing: changed) { walk(document.root) }
            }
        }
        #expect(refusals == text.count - 1)
    }

    private func walk(_ value: JSONValue) {
        _ = (value.string, value.integer, value.double, value.rawBytes)
        for element in value.elements { walk(element) }
        for member in value.members { walk(member.value) }
    }
}
