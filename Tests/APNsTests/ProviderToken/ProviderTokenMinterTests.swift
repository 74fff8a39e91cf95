import Gateway
import JSON
import Observability
import Security
import Synchronization
import Testing

@testable import APNs

/// A vault in memory, shared by "daemons" of a test.
final class MemoryVault: ProviderTokenVault {
    struct State {
        var tokens: [ProviderKey: ProviderToken] = [:]
        /// How long ago a refused token was replaced; nil for never.
        var forcedAgeSeconds: Int64?
        var isBroken = false
        var replacementCount = 0
        /// Whoever asks for the key waits for its end.
        var gate: AsyncStream<Void>?
    }
    let signingKey = ES256PrivateKey.generate()
    let state = Mutex(State())
    let hasKey: Bool

    init(hasKey: Bool = true) { self.hasKey = hasKey }

    func signingKey(of key: ProviderKey) async throws(StorageError) -> [UInt8]? {
        // Lets concurrent callers pile up.
        await Task.yield()
        if let gate = state.withLock({ $0.gate.take() }) { for await _ in gate {} }
        return hasKey ? signingKey.pem : nil
    }

    /// Keeps the next caller that wants the key until the gate is finished.
    func holdKey() -> AsyncStream<Void>.Continuation {
        let (gate, end) = AsyncStream.makeStream(of: Void.self)
        state.withLock { $0.gate = gate }
        return end
    }

    func currentToken(of key: ProviderKey) async throws(StorageError) -> ProviderToken? { state.withLock { $0.tokens[key] } }

    func replaceToken(
        of key: ProviderKey, expected: ProviderToken?, with replacement: ProviderToken, forcedDistanceSeconds: Int64?
    ) async throws(StorageError) -> ProviderToken {
        state.withLock { state in
            let isTooSoon = forcedDistanceSeconds.map { state.forcedAgeSeconds ?? $0 < $0 } ?? false
            if state.tokens[key] == expected, !isTooSoon {
                if forcedDistanceSeconds != nil, expected != nil { state.forcedAgeSeconds = 0 }
                state.tokens[key] = replacement
                state.replacementCount += 1
            }
            return state.tokens[key] ?? replacement
        }
    }
}

@Suite("Provider token minter") struct ProviderTokenMinterTests {
    static let key = ProviderKey(teamID: "TEAM123456", keyID: "KEY1234567")

    @Test("signs header and claims with ES256 as r and s")
    func signs() async throws {
        let vault = MemoryVault()
        let clock = ProviderTokenClock(monotonic: { .zero }, wallSeconds: { 1_700_000_000 })
        let minter = ProviderTokenMinters(vault: vault, clock: clock).minter(of: Self.key)
        #expect(minter.admit() == .needsToken)
        await minter.refresh()
        guard case .use(let issued, renewalIsDue: false) = minter.admit() else {
            Issue.record("no token")
            return
        }
        let parts = issued.value.token.split(separator: ".")
        try #require(parts.count == 3)
        #expect(Base64.decodeURL(parts[0]) == Array(#"{"alg":"ES256","kid":"KEY1234567"}"#.utf8))
        #expect(Base64.decodeURL(parts[1]) == Array(#"{"iss":"TEAM123456","iat":1700000000}"#.utf8))
        let signature = try #require(Base64.decodeURL(parts[2]))
        #expect(signature.count == 64)
        #expect(vault.signingKey.publicKey.verifies(signature: signature, message: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test("makes one token for any number of callers and daemons")
    func singleFlight() async {
        let vault = MemoryVault()
        let minters = (0..<3).map { _ in ProviderTokenMinters(vault: vault) }
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<60 { group.addTask { await minters[index % 3].minter(of: Self.key).refresh() } }
        }
        let tokens = Set(
            minters.compactMap { (minters) -> String? in
                guard case .use(let issued, _) = minters.minter(of: Self.key).admit() else { return nil }
                return issued.value.token
            })
        #expect(tokens.count == 1)
        #expect(vault.state.withLock { $0.replacementCount } == 1)
    }

    @Test("holds a key that nobody has")
    func withoutKey() async {
        let metrics = Metrics()
        let minter = ProviderTokenMinters(vault: MemoryVault(hasKey: false), metrics: metrics).minter(of: Self.key)
        await minter.refresh()
        #expect(metrics.counter("openpush_apns_token_failures_total").value == 1)
        guard case .held(.credentialsRefused, _) = minter.admit() else {
            Issue.record("not held")
            return
        }
    }

    @Test(
        "replaces a refused token at once, and within 20 minutes no other one, whichever daemon would: the key is held, and it says so"
    )
    func keepsForcedToken() async throws {
        let vault = MemoryVault()
        // One that made the tokens, and one that was started since.
        for daemon in 1...2 {
            let metrics = Metrics()
            let minter = ProviderTokenMinters(vault: vault, metrics: metrics).minter(of: Self.key)
            await minter.refresh()
            if daemon == 1 {
                #expect(minter.refused(.expiredProviderToken, generation: 1) == .resend)
                await minter.refresh()
                guard case .use(let issued, _) = minter.admit() else {
                    Issue.record("no other token")
                    return
                }
                #expect(issued.generation == 2)
            }
            _ = minter.refused(.expiredProviderToken, generation: daemon == 1 ? 2 : 1)
            await minter.refresh()
            guard case .held(.expiredProviderToken, _) = minter.admit() else {
                Issue.record("daemon \(daemon) does not hold the key")
                return
            }
            #expect(vault.state.withLock { $0.replacementCount } == 2)
            #expect(metrics.gauge("openpush_apns_held_keys").value == 1)
            _ = minter.accepted(generation: daemon == 1 ? 2 : 1)
            #expect(metrics.gauge("openpush_apns_held_keys").value == 0)
        }
        // Once that is long enough ago another one is made.
        vault.state.withLock { $0.forcedAgeSeconds = 1_200 }
        let minter = ProviderTokenMinters(vault: vault).minter(of: Self.key)
        await minter.refresh()
        #expect(minter.refused(.expiredProviderToken, generation: 1) == .resend)
        await minter.refresh()
        #expect(vault.state.withLock { $0.replacementCount } == 3)
    }
}
