import APNsSimulator
import Security

/// A public key as `--public-key` names it.
struct KeyFile {
    let teamID: String
    let keyID: String
    let path: String
    let environments: Set<PushEnvironment>
    let bundleIDs: Set<String>

    /// Reads `TEAM:KEY:PATH[:production|sandbox|both][:BUNDLE,BUNDLE...]`.
    init(_ text: String) throws(UsageError) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard (3...5).contains(parts.count), !parts[..<3].contains("") else {
            throw UsageError("--public-key \(text) is not TEAM:KEY:PATH with an environment and topics behind it")
        }
        teamID = parts[0]
        keyID = parts[1]
        path = parts[2]
        switch parts.count > 3 ? parts[3] : "both" {
        case "both", "": environments = Set(PushEnvironment.allCases)
        case let name:
            guard let environment = PushEnvironment(rawValue: name) else {
                throw UsageError("--public-key \(text): \(name) is neither production, sandbox nor both")
            }
            environments = [environment]
        }
        bundleIDs = parts.count > 4 ? Set(parts[4].split(separator: ",").map(String.init)) : []
    }

    /// Reads the file.
    func load() throws -> ProviderKey {
        ProviderKey(
            teamID: teamID, keyID: keyID, publicKey: try ES256PublicKey(pem: try File.read(path)), environments: environments,
            bundleIDs: bundleIDs)
    }
}
