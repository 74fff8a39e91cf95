package import Gateway
package import Observability
import Security
import Synchronization

/// Makes the provider token of one key; one in a process, shared by all its loops, and through the vault by all daemons.
package final class ProviderTokenMinter: Sendable {
    /// The key.
    package let key: ProviderKey
    private let vault: any ProviderTokenVault
    private let clock: ProviderTokenClock
    private let state = Mutex(ProviderTokenState())
    private let waiters = Mutex<[CheckedContinuation<Void, Never>]>([])
    private let metrics: ProviderTokenMetrics

    /// A minter that has no token yet.
    package init(
        key: ProviderKey, vault: any ProviderTokenVault, clock: ProviderTokenClock = .system, metrics: ProviderTokenMetrics
    ) {
        self.key = key
        self.vault = vault
        self.clock = clock
        self.metrics = metrics
    }

    /// What may be sent now. A probe is handed out once; who gets it must send a push.
    package func admit() -> TokenAdmission {
        let now = clock.monotonic()
        let wallSeconds = clock.wallSeconds()
        return state.withLock { $0.admit(now: now, wallSeconds: wallSeconds) }
    }

    /// Whether `admit` would still hand out the token of that generation for any number of pushes; changes nothing.
    package func isUsable(generation: Int) -> Bool { state.withLock { $0.isUsable(generation: generation) } }

    /// Where a token of this generation or an older one was used last, newer ones do not belong: APNs called it expired, on whichever
    /// connection, and may refuse them there as well. 0 while there is none.
    package var spoiltGeneration: Int { state.withLock { $0.spoiltGeneration } }

    /// APNs refused the token of that generation, for that reason.
    package func refused(_ reason: DeliveryReason, generation: Int) -> TokenRefusal {
        let now = clock.monotonic()
        return change { $0.refused(reason, generation: generation, now: now) }
    }

    /// APNs gave an answer that shows that it took the token. Returns whether the key was held back until now.
    package func accepted(generation: Int) -> Bool { change { $0.accepted(generation: generation) } }

    /// Changes the state, and tells when the key is held back, or not any more.
    private func change<Value>(_ body: (inout ProviderTokenState) -> Value) -> Value {
        let (value, difference) = state.withLock { state in
            let wasHeld = state.isHeld
            let value = body(&state)
            return (value, (state.isHeld ? 1 : 0) - (wasHeld ? 1 : 0))
        }
        if difference != 0 { metrics.heldKeys.add(difference) }
        return value
    }

    /// Fetches or makes a token, or waits for the caller that does it already.
    package func refresh() async {
        let isFirst = state.withLock { state in
            defer { state.isMinting = true }
            return !state.isMinting
        }
        if isFirst {
            await mint()
            state.withLock { $0.isMinting = false }
            let waiting = waiters.withLock { waiters in
                defer { waiters = [] }
                return waiters
            }
            for waiter in waiting { waiter.resume() }
        } else {
            await withCheckedContinuation { continuation in
                waiters.withLock { $0.append(continuation) }
                // The first caller may have finished between the two locks.
                guard !state.withLock({ $0.isMinting }) else { return }
                let waiting = waiters.withLock { waiters in
                    defer { waiters = [] }
                    return waiters
                }
                for waiter in waiting { waiter.resume() }
            }
        }
    }

    private func mint() async {
        do {
            let stored = try await vault.currentToken(of: key)
            if let stored, isFresh(stored) { return adopt(stored) }
            guard let pem = try await vault.signingKey(of: key) else { return fail() }
            let fresh = try ProviderTokenEncoding.token(
                of: key, issuedAt: clock.wallSeconds(), signedWith: ES256PrivateKey(pem: pem))
            // A refused token is replaced at once, but not again within 20 minutes, whichever daemon does so: APNs would refuse that alone.
            let isForced = state.withLock { $0.isForced }
            let distance = isForced ? ProviderTokenState.forcedRenewalDistance.components.seconds : nil
            adopt(try await vault.replaceToken(of: key, expected: stored, with: fresh, forcedDistanceSeconds: distance))
        } catch {
            fail()
        }
    }

    private func isFresh(_ token: ProviderToken) -> Bool {
        let now = clock.monotonic()
        let wallSeconds = clock.wallSeconds()
        return state.withLock { $0.isFresh(token, now: now, wallSeconds: wallSeconds) }
    }

    private func adopt(_ token: ProviderToken) {
        let now = clock.monotonic()
        let wallSeconds = clock.wallSeconds()
        change { $0.adopt(token, now: now, wallSeconds: wallSeconds) }
    }

    private func fail() {
        let now = clock.monotonic()
        metrics.failures.add()
        state.withLock { $0.failed(.credentialsRefused, now: now) }
    }
}

/// The minters of a process, one a key.
package final class ProviderTokenMinters: Sendable {
    private let vault: any ProviderTokenVault
    private let clock: ProviderTokenClock
    private let metrics: ProviderTokenMetrics
    private let minters = Mutex<[ProviderKey: ProviderTokenMinter]>([:])

    /// No minters yet; the vault keeps keys and shares tokens.
    package init(vault: any ProviderTokenVault, clock: ProviderTokenClock = .system, metrics: Metrics = Metrics()) {
        self.vault = vault
        self.clock = clock
        self.metrics = ProviderTokenMetrics(metrics: metrics)
    }

    /// The minter of a key, made on first use. Bounded by the number of keys in the database.
    package func minter(of key: ProviderKey) -> ProviderTokenMinter {
        minters.withLock { minters in
            if let known = minters[key] { return known }
            let minter = ProviderTokenMinter(key: key, vault: vault, clock: clock, metrics: metrics)
            minters[key] = minter
            return minter
        }
    }
}

/// What the minters of a process count.
package struct ProviderTokenMetrics: Sendable {
    let heldKeys: Gauge
    let failures: Counter

    /// Finds or makes the instruments.
    package init(metrics: Metrics) {
        heldKeys = metrics.gauge(
            "openpush_apns_held_keys",
            help: "Signing keys whose pushes wait, but for one a minute, because APNs refuses their tokens")
        failures = metrics.counter(
            "openpush_apns_token_failures_total", help: "Looks for a provider token that found none and could make none")
    }
}
