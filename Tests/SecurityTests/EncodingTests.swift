import Testing

@testable import Security

@Suite("Hexadecimal") struct HexadecimalTests {
    @Test("writes lower case and reads either case") func roundTrips() {
        let all = (0...255).map { UInt8($0) }
        let text = Hexadecimal.encode(all)
        #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff"))
        #expect(Hexadecimal.decode(text) == all)
        #expect(Hexadecimal.decode(text.uppercased()) == all)
        var appended = Array("x=".utf8)
        Hexadecimal.append(all.span, to: &appended)
        #expect(appended == Array("x=\(text)".utf8))
        #expect(Hexadecimal.encode([]) == "" && Hexadecimal.decode("") == [])
    }

    @Test("refuses odd lengths and other characters", arguments: ["a", "abc", "zz", "0g", " ab", "a b", "<ab>", "0x", "ａｂ", "é"])
    func refuses(text: String) { #expect(Hexadecimal.decode(text) == nil) }
}

@Suite("Base64") struct Base64Tests {
    @Test(
        "gives the texts of RFC 4648",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func matchesVectors(plain: String, encoded: String) {
        #expect(Base64.encode(Array(plain.utf8)) == encoded)
        #expect(Base64.decode(encoded) == Array(plain.utf8))
        let unpadded = encoded.prefix { $0 != "=" }
        #expect(Base64.encodeURL(Array(plain.utf8)) == unpadded)
        #expect(Base64.decodeURL(unpadded) == Array(plain.utf8))
    }

    @Test("has two alphabets that differ in two characters") func hasAlphabets() {
        #expect(Base64.encode([0xFB, 0xEF, 0xFF]) == "++//")
        #expect(Base64.encodeURL([0xFB, 0xEF, 0xFF]) == "--__")
        #expect(Base64.decode("--__") == nil)
        #expect(Base64.decodeURL("++//") == nil)
    }

    @Test("gives back what it was given, for every length") func roundTrips() {
        for count in 0..<70 {
            let bytes = RandomBytes.generate(count: count)
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64.decodeURL(Base64.encodeURL(bytes)) == bytes)
        }
    }

    @Test(
        "refuses missing or wrong padding, stray bits, white space and foreign characters",
        arguments: [
            "Zg", "Zg=", "Zg===", "Z===", "====", "=Zg=", "Zg==Zg==", "Zh==", "Zm9=", "Zm9v\n", " Zm9v", "Zm9v====", "Zm9*",
            "Zm9é",
        ])
    func refuses(text: String) { #expect(Base64.decode(text) == nil) }

    @Test(
        "for URLs refuses padding, stray bits and impossible lengths",
        arguments: ["Zg==", "Zm8=", "Zh", "Zm9", "Z", "Zm9vY", "Zm 9"])
    func refusesURL(text: String) { #expect(Base64.decodeURL(text) == nil) }
}
