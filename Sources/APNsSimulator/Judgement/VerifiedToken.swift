/// A provider token whose signature was checked against a registered key.
struct VerifiedToken: Sendable {
    /// Counts the distinct verified tokens of this simulator, from 1.
    let number: Int
    let key: ProviderKey
    /// Seconds since 1970.
    let issuedAt: Int64
}
