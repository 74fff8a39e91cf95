import JSON
package import Security

/// A service account as Google knows it: the public half of its key, and the project it may send for.
package struct GoogleAccount: Sendable {
    package let projectID: String
    package let email: String
    package let keyID: String
    package let publicKey: RS256PublicKey

    /// Puts an account together.
    package init(projectID: String, email: String, keyID: String, publicKey: RS256PublicKey) {
        self.projectID = projectID
        self.email = email
        self.keyID = keyID
        self.publicKey = publicKey
    }

    /// Reads the JSON file that a sender has; nil when something is missing in it.
    package init?(serviceAccount json: [UInt8]) {
        guard let root = try? JSONDocument(parsing: json, depthLimit: 8).root, let projectID = root["project_id"]?.string,
            let email = root["client_email"]?.string, let keyID = root["private_key_id"]?.string,
            let pem = root["private_key"]?.string, let key = try? RS256PrivateKey(pem: Array(pem.utf8))
        else { return nil }
        self.init(projectID: projectID, email: email, keyID: keyID, publicKey: key.publicKey)
    }

    /// A new account with a key of its own, as the JSON file that Google's console would give. Takes a good part of a second.
    package static func makeServiceAccount(projectID: String) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        let keyID = Hexadecimal.encode((0..<20).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("type", "service_account")
        writer.member("project_id", projectID)
        writer.member("private_key_id", keyID)
        writer.member("private_key", String(decoding: RS256PrivateKey.generate().pem, as: UTF8.self))
        writer.member("client_email", "simulated@\(projectID).iam.gserviceaccount.com")
        writer.member("token_uri", GoogleGrant.audience)
        writer.endObject()
        return writer.bytes
    }
}
