package import Security

/// A key of the developer account whose public half the simulator knows.
package struct ProviderKey: Sendable {
    /// Ten characters, as in the account.
    package var teamID: String
    /// Ten characters, as in the name of the .p8 file.
    package var keyID: String
    package var publicKey: ES256PublicKey
    /// Where the key may be used; both is what keys made before 2025 allow.
    package var environments: Set<PushEnvironment>
    /// Bundle identifiers the key is restricted to; empty allows all of the team.
    package var bundleIDs: Set<String>
    /// Keys that may follow this one on a connection without being "unrelated".
    package var relatedKeyIDs: Set<String>

    /// An unrestricted key, unless the arguments say otherwise.
    package init(
        teamID: String, keyID: String, publicKey: ES256PublicKey,
        environments: Set<PushEnvironment> = Set(PushEnvironment.allCases),
        bundleIDs: Set<String> = [], relatedKeyIDs: Set<String> = []
    ) {
        self.teamID = teamID
        self.keyID = keyID
        self.publicKey = publicKey
        self.environments = environments
        self.bundleIDs = bundleIDs
        self.relatedKeyIDs = relatedKeyIDs
    }
}
