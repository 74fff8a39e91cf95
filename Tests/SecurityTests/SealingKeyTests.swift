import Testing

@testable import Security

@Suite("Sealing key") struct SealingKeyTests {
    private let key: SealingKey
    private let context = Array("app/7/key".utf8)

    init() throws { key = try #require(SealingKey(bytes: Array(repeating: 5, count: 32))) }

    @Test("opens what it sealed", arguments: [0, 1, 15, 16, 17, 5_000]) func roundTrips(count: Int) throws {
        let secret = RandomBytes.generate(count: count)
        let sealed = key.seal(secret, context: context)
        #expect(sealed.count == count + SealingKey.overheadByteCount)
        #expect(try key.open(sealed, context: context) == secret)
        #expect(try key.open(key.seal(secret, context: []), context: []) == secret)
    }

    @Test("never seals twice alike") func usesFreshNonces() {
        let secret = Array("secret".utf8)
        #expect(Set((0..<100).map { _ in key.seal(secret, context: context) }).count == 100)
    }

    @Test("opens nothing that was changed in any byte") func refusesChanges() {
        let sealed = key.seal(Array("secret".utf8), context: context)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 0x80
            #expect(throws: SecurityError.self) { try key.open(changed, context: context) }
        }
    }

    @Test("opens nothing that is cut short") func refusesShort() {
        let sealed = key.seal(Array("secret".utf8), context: context)
        for count in sealed.indices {
            #expect(throws: SecurityError.self) { try key.open(Array(sealed[..<count]), context: context) }
        }
    }

    @Test("opens nothing for another place or by another key") func refusesOthers() throws {
        let sealed = key.seal(Array("secret".utf8), context: context)
        #expect(throws: SecurityError.self) { try key.open(sealed, context: Array("app/8/key".utf8)) }
        let other = try #require(SealingKey(bytes: Array(repeating: 6, count: 32)))
        #expect(throws: SecurityError.self) { try other.open(sealed, context: context) }
    }

    @Test("opens a text sealed elsewhere by AES-256-GCM") func matchesVector() throws {
        // NIST's GCM test case 16: key, nonce, additional data, plaintext, ciphertext and tag.
        let bytes = try #require(Hexadecimal.decode("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"))
        let text =
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
        let sealed = try #require(
            Hexadecimal.decode("01" + "cafebabefacedbaddecaf888" + text + "76fc6ece0f4e1768cddf8853bb2d551b"))
        let context = try #require(Hexadecimal.decode("feedfacedeadbeeffeedfacedeadbeefabaddad2"))
        let plaintext = try #require(SealingKey(bytes: bytes)).open(sealed, context: context)
        #expect(Hexadecimal.encode(plaintext).hasPrefix("d9313225f88406e5a55909c5aff5269a"))
        #expect(plaintext.count == 60)
    }

    @Test("takes 32 bytes only", arguments: [0, 16, 31, 33]) func refusesLength(count: Int) {
        #expect(SealingKey(bytes: Array(repeating: 1, count: count)) == nil)
    }

    @Test("does not print its bytes") func hides() {
        var text = "\(key)" + String(reflecting: key)
        dump(key, to: &text)
        #expect(!text.contains("5"))
    }
}
