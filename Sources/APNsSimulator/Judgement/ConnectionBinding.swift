/// What APNs ties a connection to with its first valid push, and the provider tokens that were used on it.
///
/// Source: Apple, "Establishing a token-based connection to APNs".
struct ConnectionBinding {
    private var teamID: String?
    private var firstKey: ProviderKey?
    /// The texts of tokens that were let in, newest last. Only distinct ones count as changes.
    private var tokens: [(text: String, verified: VerifiedToken)] = []
    private var changedAt: Int64?

    /// Tokens remembered of one connection; older ones count as new when they come back.
    static let tokenLimit = 4

    /// Whether a valid token was seen.
    var isAuthenticated: Bool { firstKey != nil }

    /// The token when this connection has verified this very text before.
    func known(_ text: String) -> VerifiedToken? { tokens.last { $0.text == text }?.verified }

    /// Lets a verified token in, or says what speaks against it.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - interval: milliseconds in which one change of token is allowed.
    mutating func admit(_ text: String, _ verified: VerifiedToken, now: Int64, interval: Int64) -> Reason? {
        guard let first = firstKey else {
            firstKey = verified.key
            teamID = verified.key.teamID
            tokens = [(text, verified)]
            return nil
        }
        guard verified.key.teamID == teamID else { return .invalidProviderToken }
        guard verified.key.keyID == first.keyID || first.relatedKeyIDs.contains(verified.key.keyID) else {
            return .unrelatedKeyIDInToken
        }
        if known(text) != nil { return nil }
        if let changedAt, now - changedAt < interval { return .tooManyProviderTokenUpdates }
        changedAt = now
        tokens.append((text, verified))
        if tokens.count > ConnectionBinding.tokenLimit { tokens.removeFirst() }
        return nil
    }
}
