import Testing

@testable import Security

@Suite("ES256") struct ES256Tests {
    private let message = Array("head.claims".utf8)

    @Test("verifies the signature of RFC 7515") func verifiesVector() throws {
        let key = try ES256PublicKey(pem: Array(SampleKeys.publicKey.utf8))
        #expect(key.verifies(signature: SampleKeys.signature, message: SampleKeys.signedMessage))
        #expect(!key.verifies(signature: SampleKeys.signature, message: SampleKeys.signedMessage + [0]))
    }

    @Test(
        "reads a private key in every common form",
        arguments: [
            SampleKeys.pkcs8, SampleKeys.authKey, SampleKeys.sec1, SampleKeys.authKey.replacing("\n", with: "\r\n"),
            String(SampleKeys.authKey.dropLast()), "Bag Attributes\n    name: x\n" + SampleKeys.pkcs8 + "\n\n",
        ])
    func readsPrivateKey(pem: String) throws {
        let key = try ES256PrivateKey(pem: Array(pem.utf8))
        let verifier = try ES256PublicKey(pem: Array(SampleKeys.publicKey.utf8))
        #expect(try verifier.verifies(signature: key.sign(message), message: message))
        #expect(key.publicKey.pem == Array(SampleKeys.publicKey.utf8))
    }

    @Test("signs in 64 raw bytes, numbers with leading zeros included") func signsRaw() throws {
        let key = ES256PrivateKey.generate()
        var sawLeadingZero = false
        // One number in 256 begins with a zero byte; 3,000 signatures without one would be a chance of e^-23.
        for _ in 0..<3_000 where !sawLeadingZero {
            let signature = try key.sign(message)
            #expect(signature.count == 64)
            guard signature[0] == 0 || signature[32] == 0 else { continue }
            sawLeadingZero = true
            #expect(key.publicKey.verifies(signature: signature, message: message))
        }
        #expect(sawLeadingZero)
    }

    @Test("refuses a signature in DER, of another length, or changed") func refusesSignatures() throws {
        let key = try ES256PrivateKey(pem: Array(SampleKeys.pkcs8.utf8))
        let signature = try key.sign(message)
        let encoded = try #require(ECDSASignature.derEncoded(raw: signature))
        #expect(!key.publicKey.verifies(signature: encoded, message: message))
        #expect(ECDSASignature.raw(derEncoded: encoded[...]) == signature)
        #expect(ECDSASignature.raw(derEncoded: encoded.dropLast()) == nil)
        for wrong in [
            [], Array(signature.dropLast()), signature + [0], Array(repeating: 0, count: 64), Array(repeating: 255, count: 64),
        ] {
            #expect(!key.publicKey.verifies(signature: wrong, message: message))
        }
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 1
            #expect(!key.publicKey.verifies(signature: changed, message: message))
        }
    }

    @Test("does not verify by another key") func refusesOtherKey() throws {
        let signature = try ES256PrivateKey.generate().sign(message)
        #expect(!ES256PrivateKey.generate().publicKey.verifies(signature: signature, message: message))
    }

    @Test("gives keys that can be read again") func writesKeys() throws {
        let key = ES256PrivateKey.generate()
        let again = try ES256PrivateKey(pem: key.pem)
        let verifier = try ES256PublicKey(pem: key.publicKey.pem)
        #expect(try verifier.verifies(signature: again.sign(message), message: message))
    }

    @Test(
        "refuses private keys on other curves and of other kinds",
        arguments: [SampleKeys.p384, SampleKeys.secp256k1, SampleKeys.ed25519])
    func refusesOtherCurves(pem: String) {
        #expect(throws: SecurityError.invalidInput(operation: "private key", reason: "not on the curve P-256")) {
            try ES256PrivateKey(pem: Array(pem.utf8))
        }
    }

    @Test("refuses public keys on other curves and of other kinds", arguments: [SampleKeys.p384Public, SampleKeys.ed25519Public])
    func refusesOtherPublicCurves(pem: String) {
        #expect(throws: SecurityError.invalidInput(operation: "public key", reason: "not on the curve P-256")) {
            try ES256PublicKey(pem: Array(pem.utf8))
        }
    }

    @Test(
        "refuses what holds no usable key, without asking anybody for a passphrase",
        arguments: [
            "", "nonsense", SampleKeys.encrypted, SampleKeys.publicKey,
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        ])
    func refusesUnusable(pem: String) {
        #expect(throws: SecurityError.self) { try ES256PrivateKey(pem: Array(pem.utf8)) }
    }
}
