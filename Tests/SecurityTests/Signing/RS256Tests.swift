import Testing

@testable import Security

@Suite("RS256") struct RS256Tests {
    private static let key = RS256PrivateKey.generate()
    private let message = Array("head.claims".utf8)

    @Test("verifies what its private key signed, and nothing else")
    func signs() throws {
        let signature = try Self.key.sign(message)
        #expect(signature.count == 256)
        let reader = try RS256PublicKey(pem: Self.key.publicKey.pem)
        #expect(reader.verifies(signature: signature, message: message))
        #expect(!reader.verifies(signature: signature, message: message + [0]))
        #expect(!reader.verifies(signature: Array(signature.dropLast()), message: message))
        #expect(!reader.verifies(signature: [], message: message))
    }

    @Test("reads back the key it writes, and signs the same with it: the scheme has no randomness")
    func readsBack() throws {
        #expect(try RS256PrivateKey(pem: Self.key.pem).sign(message) == Self.key.sign(message))
    }

    @Test("refuses keys of another kind, and short ones")
    func refuses() throws {
        let elliptic = SecurityError.invalidInput(operation: "private key", reason: "not an RSA key")
        #expect(throws: elliptic) { try RS256PrivateKey(pem: ES256PrivateKey.generate().pem) }
        let short = SecurityError.invalidInput(operation: "private key", reason: "shorter than 2048 bits")
        #expect(throws: short) { try RS256PrivateKey(pem: KeyHandle.generateRSA(bitCount: 1024).privatePEM) }
        #expect(throws: SecurityError.self) { try RS256PublicKey(pem: ES256PrivateKey.generate().publicKey.pem) }
        #expect(throws: SecurityError.self) { try RS256PrivateKey(pem: Array("x".utf8)) }
    }
}
