/// What APNs ties a connection to with its first valid push, and the provider tokens that were used on it.
///
/// Source: Apple, "Establishing a token-based connection to APNs".
struct ConnectionBinding {
    private var teamID: String?
    private var firstKey: ProviderKey?
    /// The tokens that were let in, newest last, with the generation of the key ring that verified them.
    private var tokens: [(text: String, verified: VerifiedToken, generation: Int)] = []
    private var changedAt: Int64?
    /// Whether a token was called expired on this connection: then every other one is, too. Observed, not documented: pushy's client
    /// takes another connection for this reason.
    private var hasExpired = false

    /// Tokens remembered of one connection; older ones count as new when they come back.
    static let tokenLimit = 4

    /// Whether a valid token was seen.
    var isAuthenticated: Bool { firstKey != nil }

    /// The answer to a request of this connection, given the one it would get for itself.
    mutating func answer(_ answer: PushAnswer) -> PushAnswer {
        let expired = PushAnswer(.expiredProviderToken)
        if answer.status == expired.status, answer.reason == expired.reason { hasExpired = true }
        return hasExpired ? expired : answer
    }

    /// The token when this connection has let this very text in, and the keys have not changed since.
    func known(_ text: String, generation: Int) -> VerifiedToken? {
        tokens.last { $0.text == text && $0.generation == generation }?.verified
    }

    /// Lets a verified token in, or says what speaks against it.
    ///
    /// - Parameters:
    ///   - generation: of the key ring, before it verified the token.
    ///   - now: milliseconds since 1970.
    ///   - interval: milliseconds in which one change of token is allowed.
    mutating func admit(_ text: String, _ verified: VerifiedToken, generation: Int, now: Int64, interval: Int64) -> Reason? {
        guard let first = firstKey else {
            firstKey = verified.key
            teamID = verified.key.teamID
            tokens = [(text, verified, generation)]
            return nil
        }
        guard verified.key.teamID == teamID else { return .invalidProviderToken }
        guard verified.key.keyID == first.keyID || first.relatedKeyIDs.contains(verified.key.keyID) else {
            return .unrelatedKeyIDInToken
        }
        if let index = tokens.firstIndex(where: { $0.text == text }) {
            tokens[index] = (text, verified, generation)
            return nil
        }
        if let changedAt, now - changedAt < interval { return .tooManyProviderTokenUpdates }
        changedAt = now
        tokens.append((text, verified, generation))
        if tokens.count > ConnectionBinding.tokenLimit { tokens.removeFirst() }
        return nil
    }
}
