/// Asks who sends a request: the signature and the age of its provider token, and what its connection is tied to.
struct ProviderTokenCheck {
    let environment: PushEnvironment
    let keys: KeyRing

    /// What speaks against the sender; nil lets it in, and gives its token.
    ///
    /// - Parameters:
    ///   - authorization: the field as it came; nil when there was none.
    ///   - now: milliseconds since 1970.
    func violation(
        authorization: String?, binding: inout ConnectionBinding, settings: SimulatorSettings, now: Int64,
        providerToken: inout VerifiedToken?
    ) -> Reason? {
        guard let text = authorization.flatMap(Self.bearerToken) else { return .missingProviderToken }
        let generation = keys.generation
        guard
            let verified = binding.known(text, generation: generation)
                ?? keys.verify(text, acceptsDER: settings.acceptsDERSignatures)
        else {
            return .invalidProviderToken
        }
        let age = now / 1000 - verified.issuedAt
        if age > settings.providerTokenLifetimeSeconds { return .expiredProviderToken }
        if age < -settings.clockToleranceSeconds { return .invalidProviderToken }
        guard verified.key.environments.contains(environment) else { return .badEnvironmentKeyInToken }
        if let reason = binding.admit(
            text, verified, generation: generation, now: now, interval: settings.providerTokenUpdateSeconds * 1000)
        {
            return reason
        }
        providerToken = verified
        return nil
    }

    /// The text behind `bearer`; nil for another scheme or nothing at all.
    static func bearerToken(_ field: String) -> String? {
        let parts = field.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }
}
