package import Gateway
import JSON
import Security

/// What is wrong with a service account's file. Never holds any of its values.
package struct ServiceAccountError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One sentence a problem, each beginning with the member it is about.
    package let problems: [String]
    package var description: String { "service account: " + problems.joined(separator: "; ") }
}

/// A service account of Google's, as the JSON file that its console makes.
package struct ServiceAccount: Sendable {
    /// Largest file taken, in bytes; Google's have about 2,400.
    package static let byteCount = 16 * 1024
    private static let members = ["type", "project_id", "private_key_id", "private_key", "client_email", "token_uri"]

    /// Names it and its key.
    package let account: FCMAccount
    /// `client_email`: the issuer of its grants.
    package let email: String
    /// `token_uri`: the audience of its grants.
    package let tokenURI: String
    let key: RS256PrivateKey

    /// Reads the file, and says everything that is wrong with it at once.
    package init(json: [UInt8]) throws(ServiceAccountError) {
        guard json.count <= Self.byteCount else {
            throw ServiceAccountError(problems: ["the file is larger than \(Self.byteCount) bytes"])
        }
        guard let document = try? JSONDocument(parsing: json, depthLimit: 8), document.root.kind == .object else {
            throw ServiceAccountError(problems: ["the file is no JSON object"])
        }
        let root = document.root
        var problems: [String] = []
        var values: [String: String] = [:]
        for name in Self.members {
            if let text = root[name]?.string, !text.isEmpty {
                values[name] = text
            } else {
                problems.append("\(name) is missing or no text")
            }
        }
        func check(_ name: String, _ expected: String, _ isValid: (String) -> Bool) {
            if let value = values[name], !isValid(value) { problems.append("\(name) is not \(expected)") }
        }
        check("type", "service_account") { $0 == "service_account" }
        check("project_id", "a project's identifier (letters, digits, - . :)", Self.isIdentifier)
        check("private_key_id", "a key's identifier (letters, digits, - . :)", Self.isIdentifier)
        check("client_email", "an e-mail address") { $0.contains("@") && $0.utf8.count <= 254 && Self.isPrintable($0) }
        check("token_uri", "an https URL") { $0.hasPrefix("https://") && $0.utf8.count <= 254 && Self.isPrintable($0) }
        var key: RS256PrivateKey?
        if let pem = values["private_key"] {
            do { key = try RS256PrivateKey(pem: Array(pem.utf8)) } catch {
                problems.append("private_key cannot be used: \(error)")
            }
        }
        guard problems.isEmpty, let key, let project = values["project_id"], let keyID = values["private_key_id"],
            let email = values["client_email"], let tokenURI = values["token_uri"]
        else { throw ServiceAccountError(problems: problems) }
        account = FCMAccount(projectID: project, keyID: keyID)
        self.email = email
        self.tokenURI = tokenURI
        self.key = key
    }

    /// What may stand in a path as it is; Google's identifiers have less.
    private static func isIdentifier(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || byte == 0x2D || byte == 0x2E || byte == 0x3A
            }
    }

    private static func isPrintable(_ text: String) -> Bool { text.utf8.allSatisfy { (0x21...0x7E).contains($0) } }
}
