import JSON
import Security

/// Reads keys as the control listener takes them.
enum KeyReader {
    static func key(_ value: JSONValue) throws(ControlError) -> ProviderKey {
        var object = try ControlObject(value, name: "key")
        let teamID = try object.requiredString("team_id")
        let keyID = try object.requiredString("key_id")
        let pem = try object.requiredString("public_key")
        var environments: Set<PushEnvironment> = []
        for text in try object.strings("environments") ?? PushEnvironment.allCases.map(\.rawValue) {
            guard let environment = PushEnvironment(rawValue: text) else {
                throw ControlError("key.environments cannot have \(text)")
            }
            environments.insert(environment)
        }
        let bundleIDs = try object.strings("topics") ?? []
        let related = try object.strings("related_key_ids") ?? []
        try object.finish()
        guard let publicKey = try? ES256PublicKey(pem: Array(pem.utf8)) else {
            throw ControlError("key.public_key is not the PEM text of a P-256 key")
        }
        return ProviderKey(
            teamID: teamID, keyID: keyID, publicKey: publicKey, environments: environments, bundleIDs: Set(bundleIDs),
            relatedKeyIDs: Set(related))
    }
}
