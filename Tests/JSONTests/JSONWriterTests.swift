import Testing

@testable import JSON

@Suite("JSON writer") struct JSONWriterTests {
    @Test("separates members and elements")
    func structure() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("a", 1)
        writer.key("b")
        writer.beginArray()
        writer.string("x")
        writer.beginObject()
        writer.endObject()
        writer.null()
        writer.endArray()
        writer.member("c", true)
        writer.member("d", nil as String?)
        writer.key("e")
        writer.raw("1.0".utf8)
        writer.endObject()
        #expect(String(decoding: writer.bytes, as: UTF8.self) == #"{"a":1,"b":["x",{},null],"c":true,"d":null,"e":1.0}"#)
    }

    @Test("writes raw UTF-8 and escapes no more than it must")
    func escapes() {
        var writer = JSONWriter()
        writer.string("é😀/\"\\\u{8}\t\n\u{C}\r\u{1}\u{1F}\u{7F}")
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "\"é😀/\\\"\\\\\\b\\t\\n\\f\\r\\u0001\\u001f\u{7F}\"")
    }

    @Test("is read back unchanged")
    func roundTrip() throws {
        let text = String(String.UnicodeScalarView((0..<0x300).compactMap(Unicode.Scalar.init) + ["😀", "\u{10FFFF}"]))
        var writer = JSONWriter()
        writer.string(text)
        #expect(try JSONDocument(parsing: writer.bytes).root.string == text)
    }
}
