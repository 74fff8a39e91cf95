package import Gateway
package import HTTP
import Synchronization

/// Where access tokens are fetched.
package protocol TokenEndpoint: Sendable {
    /// Sends a grant; the request's path is `tokenPath`.
    func send(_ grant: HTTPClientRequest) async -> HTTPClientResult
}

/// Fetches the access token of one account; one in a process, shared by all its loops, and through the vault by all daemons.
package final class AccessTokenMinter: Sendable {
    /// The path of Google's token endpoint.
    package static let tokenPath = "/token"

    /// What became of a look for a token.
    package enum Minting: Hashable, Sendable {
        /// There is one.
        case done
        /// There is one, and it could not be stored for the other daemons.
        case notShared(reason: String)
        /// There is none, for this reason; it holds no secret.
        case failed(reason: String)
        /// There is none; whoever looked for it was told why.
        case failedForOther
    }

    /// The account.
    package let account: FCMAccount
    private let vault: any AccessTokenVault
    private let clock: FCMClock
    private let state = Mutex(AccessTokenState())
    private let waiting = Mutex(Waiting())

    private struct Waiting {
        var callers: [CheckedContinuation<Minting, Never>] = []
        /// What became of the latest look, for those who wait for it.
        var latest = Minting.done
    }

    /// A minter that has no token yet.
    package init(account: FCMAccount, vault: any AccessTokenVault, clock: FCMClock = .system) {
        self.account = account
        self.vault = vault
        self.clock = clock
    }

    /// What may be sent now.
    package func admit() -> AccessTokenAdmission {
        let now = clock.monotonic()
        return state.withLock { $0.admit(now: now) }
    }

    /// FCM refused the token of that generation.
    package func refused(generation: Int) -> AccessTokenRefusal {
        let now = clock.monotonic()
        return state.withLock { $0.refused(generation: generation, now: now) }
    }

    /// Fetches a token, or waits for the caller that does it already.
    package func refresh(asking endpoint: any TokenEndpoint) async -> Minting {
        let isFirst = state.withLock { state in
            defer { state.isMinting = true }
            return !state.isMinting
        }
        guard isFirst else { return await waitForOther() }
        let minting = await mint(asking: endpoint)
        let isThere = if case .failed = minting { false } else { true }
        waiting.withLock { $0.latest = isThere ? .done : .failedForOther }
        state.withLock { $0.isMinting = false }
        resumeWaiting()
        return minting
    }

    /// Callers that wait for another one's look.
    var waitingCount: Int { waiting.withLock { $0.callers.count } }

    private func waitForOther() async -> Minting {
        await withCheckedContinuation { continuation in
            waiting.withLock { $0.callers.append(continuation) }
            // The first caller may have finished between the two locks.
            if !state.withLock({ $0.isMinting }) { resumeWaiting() }
        }
    }

    private func resumeWaiting() {
        let (callers, latest) = waiting.withLock { waiting in
            defer { waiting.callers = [] }
            return (waiting.callers, waiting.latest)
        }
        for caller in callers { caller.resume(returning: latest) }
    }

    private func mint(asking endpoint: any TokenEndpoint) async -> Minting {
        let serviceAccount: ServiceAccount
        do {
            if let refused = state.withLock({ $0.refusedToken }) { try await vault.forget(refused, of: account) }
            if let stored = try await vault.accessToken(of: account), isFresh(stored) {
                adopt(stored)
                return .done
            }
            guard let json = try await vault.serviceAccount(of: account) else {
                return fail(.credentialsRefused, "the service account is not stored, or the master key does not open it")
            }
            serviceAccount = try ServiceAccount(json: json)
        } catch {
            return fail(.credentialsRefused, "\(error)")
        }
        let wallSeconds = clock.wallSeconds()
        let request: HTTPClientRequest
        do { request = try AccessTokenGrant.request(of: serviceAccount, path: Self.tokenPath, wallSeconds: wallSeconds) } catch {
            return fail(.credentialsRefused, "\(error)")
        }
        switch AccessTokenGrant.reading(await endpoint.send(request), wallSeconds: wallSeconds) {
        case .failure(let failure): return fail(failure.reason, failure.text)
        case .success(let token):
            adopt(token)
            do { try await vault.keep(token, of: account) } catch { return .notShared(reason: "\(error)") }
            return .done
        }
    }

    private func isFresh(_ token: AccessToken) -> Bool {
        let now = clock.monotonic()
        let wallSeconds = clock.wallSeconds()
        return state.withLock { $0.isFresh(token, now: now, wallSeconds: wallSeconds) }
    }

    private func adopt(_ token: AccessToken) {
        let now = clock.monotonic()
        let wallSeconds = clock.wallSeconds()
        state.withLock { $0.adopt(token, now: now, wallSeconds: wallSeconds) }
    }

    private func fail(_ reason: DeliveryReason, _ text: String) -> Minting {
        let now = clock.monotonic()
        state.withLock { $0.failed(reason, now: now) }
        return .failed(reason: text)
    }
}

/// The minters of a process, one an account.
package final class AccessTokenMinters: Sendable {
    private let vault: any AccessTokenVault
    private let clock: FCMClock
    private let minters = Mutex<[FCMAccount: AccessTokenMinter]>([:])

    /// No minters yet; the vault keeps accounts and shares tokens.
    package init(vault: any AccessTokenVault, clock: FCMClock = .system) {
        self.vault = vault
        self.clock = clock
    }

    /// The minter of an account, made on first use. Bounded by the number of accounts in the database.
    package func minter(of account: FCMAccount) -> AccessTokenMinter {
        minters.withLock { minters in
            if let known = minters[account] { return known }
            let minter = AccessTokenMinter(account: account, vault: vault, clock: clock)
            minters[account] = minter
            return minter
        }
    }
}
