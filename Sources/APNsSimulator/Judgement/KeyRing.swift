import Security
import Synchronization

/// The public keys the simulator knows, and the provider tokens it has verified with them.
final class KeyRing: Sendable {
    /// Most distinct verified tokens remembered; past it the memory starts anew and only the numbering goes on.
    static let verifiedTokenLimit = 10_000

    private struct State {
        var keys: [String: ProviderKey] = [:]
        var verified: [String: VerifiedToken] = [:]
        var verifiedCount = 0
        var distinctTokenCounts: [String: Int] = [:]
    }
    private let state = Mutex(State())
    private let changes = Atomic(0)

    /// Grows whenever something verified earlier may not be any more.
    var generation: Int { changes.load(ordering: .acquiring) }

    /// Adds a key or replaces the one with the same identifier; tokens verified with the old one are forgotten.
    func register(_ key: ProviderKey) {
        state.withLock { state in
            state.keys[key.keyID] = key
            state.verified = state.verified.filter { $0.value.key.keyID != key.keyID }
        }
        changes.add(1, ordering: .releasing)
    }

    /// Takes a key away, as revoking it does; false when it was not there.
    func revoke(keyID: String) -> Bool {
        defer { changes.add(1, ordering: .releasing) }
        return state.withLock { state in
            state.verified = state.verified.filter { $0.value.key.keyID != keyID }
            return state.keys.removeValue(forKey: keyID) != nil
        }
    }

    /// The token when a registered key of its team signed it, nil otherwise; its age is not looked at.
    func verify(_ text: String, acceptsDER: Bool) -> VerifiedToken? {
        if let known = state.withLock({ $0.verified[text] }) { return known }
        guard let token = ProviderToken(text), let key = state.withLock({ $0.keys[token.keyID] }), key.teamID == token.teamID,
            let signature = token.rawSignature(acceptsDER: acceptsDER),
            key.publicKey.verifies(signature: signature, message: token.signedBytes)
        else { return nil }
        return state.withLock { state in
            if let known = state.verified[text] { return known }
            if state.verified.count >= KeyRing.verifiedTokenLimit { state.verified.removeAll() }
            state.verifiedCount += 1
            state.distinctTokenCounts["\(key.teamID).\(key.keyID)", default: 0] += 1
            let verified = VerifiedToken(number: state.verifiedCount, key: key, issuedAt: token.issuedAt)
            state.verified[text] = verified
            return verified
        }
    }

    /// How many distinct valid tokens were seen, by `TEAM.KEY`.
    var distinctTokenCounts: [String: Int] { state.withLock { $0.distinctTokenCounts } }

    /// Forgets the tokens that were seen and keeps the keys.
    func forgetTokens() {
        state.withLock { state in
            state.verified = [:]
            state.verifiedCount = 0
            state.distinctTokenCounts = [:]
        }
        changes.add(1, ordering: .releasing)
    }
}
