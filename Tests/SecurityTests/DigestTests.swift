import Testing

@testable import Security

@Suite("SHA-256") struct SHA256Tests {
    @Test(
        "gives the digests of FIPS 180",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func matchesVectors(text: String, digest: String) {
        #expect(Hexadecimal.encode(SHA256.digest(Array(text.utf8))) == digest)
        #expect(SHA256.digest(Array("x\(text)".utf8).span.extracting(droppingFirst: 1)) == Hexadecimal.decode(digest))
    }
}

@Suite("Constant-time comparison") struct ConstantTimeTests {
    @Test("tells equal from different") func compares() {
        #expect(ConstantTime.equal([], []))
        #expect(ConstantTime.equal([1, 2, 3], [1, 2, 3]))
        #expect(!ConstantTime.equal([1, 2, 3], [1, 2, 4]))
        #expect(!ConstantTime.equal([0, 2, 3], [1, 2, 3]))
        #expect(!ConstantTime.equal([1, 2], [1, 2, 3]))
    }
}

@Suite("Random bytes") struct RandomBytesTests {
    @Test("come in the number asked for and do not repeat") func areRandom() {
        #expect(RandomBytes.generate(count: 0).isEmpty)
        let draws = Set((0..<100).map { _ in RandomBytes.generate(count: 16) })
        #expect(draws.count == 100)
        #expect(draws.allSatisfy { $0.count == 16 })
    }
}
