import Gateway
import Security
import Testing

@testable import FCM

@Suite("Service account") struct ServiceAccountTests {
    @Test("is read from Google's file")
    func reads() throws {
        let account = try ServiceAccount(json: SampleAccount.json())
        #expect(account.account == SampleAccount.account)
        #expect(account.email == SampleAccount.email && account.tokenURI == "https://oauth2.googleapis.com/token")
    }

    @Test(
        "says what is wrong with a member",
        arguments: [
            ("type", nil, "type is missing or no text"), ("type", "authorized_user", "type is not service_account"),
            ("project_id", "../x", "project_id is not a project's identifier (letters, digits, - . :)"),
            ("private_key_id", "", "private_key_id is missing or no text"),
            ("client_email", "nobody", "client_email is not an e-mail address"),
            ("token_uri", "http://x", "token_uri is not an https URL"),
            ("private_key", "not a key", "private_key cannot be used: private key: unsupported"),
        ] as [(String, String?, String)])
    func refuses(member: String, value: String?, problem: String) {
        #expect(throws: ServiceAccountError(problems: [problem])) {
            try ServiceAccount(json: SampleAccount.json([member: value]))
        }
    }

    @Test("refuses a key of another kind")
    func otherKey() {
        let pem = String(decoding: ES256PrivateKey.generate().pem, as: UTF8.self)
        #expect(throws: ServiceAccountError(problems: ["private_key cannot be used: private key: not an RSA key"])) {
            try ServiceAccount(json: SampleAccount.json(["private_key": pem]))
        }
    }

    @Test("says everything at once, and never what stands in the file")
    func everything() throws {
        let json = SampleAccount.json(["type": "secret-1", "client_email": "secret-2", "private_key": "secret-3"])
        let error = #expect(throws: ServiceAccountError.self) { try ServiceAccount(json: json) }
        let text = try #require(error).description
        #expect(
            text.contains("type") && text.contains("client_email") && text.contains("private_key") && !text.contains("secret"))
    }

    @Test("refuses what is no object, and what is too large", arguments: ["", "[]", "{", "\"x\""])
    func noObject(text: String) {
        #expect(throws: ServiceAccountError(problems: ["the file is no JSON object"])) {
            try ServiceAccount(json: Array(text.utf8))
        }
        #expect(throws: ServiceAccountError(problems: ["the file is larger than 16384 bytes"])) {
            try ServiceAccount(json: [UInt8](repeating: 0x20, count: 16_385))
        }
    }
}
