import Synchronization

/// What a registration token is to FCM, or what becomes of each message to it.
package enum GoogleTokenState: Equatable, Sendable {
    case valid
    /// The app was removed: 404 UNREGISTERED.
    case unregistered
    /// It belongs to another project: 403 SENDER_ID_MISMATCH.
    case senderMismatch
    /// It is no token: 400 INVALID_ARGUMENT.
    case invalid
    /// Too many messages: 429 QUOTA_EXCEEDED, with `retry-after` in seconds when given.
    case quota(retryAfter: Int64?)
    /// 503 UNAVAILABLE, with `retry-after` in seconds when given.
    case unavailable(retryAfter: Int64?)
    /// 500 INTERNAL.
    case internalError
    /// 401 THIRD_PARTY_AUTH_ERROR: the project's key for APNs is wrong.
    case thirdPartyAuthError
    /// The answer waits for `release`.
    case held
}

/// A message as it was received.
package struct GoogleMessage: Sendable, Equatable {
    package let projectID: String
    /// The registration token; empty when the body names none.
    package let token: String
    /// The access token it came with; empty without one.
    package let accessToken: String
    /// The whole body.
    package let body: [UInt8]
    /// The status it was answered with; 0 while it is held.
    package var status: Int
}

/// Plays Google: knows service accounts, access tokens and registration tokens, and keeps what it was sent.
package final class GoogleService: Sendable {
    /// Most messages kept; the oldest go first.
    static let messageLimit = 100_000

    private struct Access {
        let projectID: String
        let expiresAt: Int64
    }

    private struct State {
        var accounts: [GoogleAccount] = []
        var access: [String: Access] = [:]
        var accessCount = 0
        var tokens: [String: GoogleTokenState] = [:]
        var messages: [GoogleMessage] = []
        var droppedCount = 0
        var accessTokenSeconds: Int64 = 3600
        var tokenEndpointStatus: Int?
        var takesAccessTokens = true
        var held: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let nowSeconds: @Sendable () -> Int64

    init(nowSeconds: @escaping @Sendable () -> Int64) { self.nowSeconds = nowSeconds }

    // MARK: Instructions

    /// Adds an account, or replaces the one with the same key.
    package func register(_ account: GoogleAccount) {
        state.withLock { state in
            state.accounts.removeAll { $0.keyID == account.keyID }
            state.accounts.append(account)
        }
    }

    /// Takes an account away, as deleting its key does. Access tokens it has stay valid.
    package func revoke(keyID: String) { state.withLock { $0.accounts.removeAll { $0.keyID == keyID } } }

    /// Says what a registration token is from now on; one that nobody declared is valid.
    package func declare(_ token: String, _ tokenState: GoogleTokenState) { state.withLock { $0.tokens[token] = tokenState } }

    /// Makes every access token invalid that was given so far.
    package func revokeAccessTokens() { state.withLock { $0.access = [:] } }

    /// How long access tokens last from now on, in seconds. 3,600 by default.
    package func setAccessTokenSeconds(_ seconds: Int64) { state.withLock { $0.accessTokenSeconds = seconds } }

    /// Whether FCM takes access tokens at all; false: it answers 401 to each.
    package func setAccessTokensValid(_ isValid: Bool) { state.withLock { $0.takesAccessTokens = isValid } }

    /// Lets the token endpoint answer everything with this status; nil: as Google does.
    package func setTokenEndpointStatus(_ status: Int?) { state.withLock { $0.tokenEndpointStatus = status } }

    /// Answers held messages.
    package func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    /// Forgets registration tokens and messages; accounts and access tokens stay. Held messages are answered.
    package func reset() {
        state.withLock { state in
            state.droppedCount += state.messages.count
            state.messages = []
            state.tokens = [:]
        }
        release()
    }

    // MARK: What happened

    /// Messages kept, oldest first; those to one registration token when it is given.
    package func messages(to token: String? = nil) -> [GoogleMessage] {
        state.withLock { state in state.messages.filter { token == nil || $0.token == token } }
    }

    /// How many access tokens were given.
    package var accessTokenCount: Int { state.withLock { $0.accessCount } }

    /// How many messages wait for `release`.
    package var heldCount: Int { state.withLock { $0.held.count } }

    // MARK: Serving

    /// The status that a test asks for; nil: as Google does.
    var tokenEndpointStatus: Int? { state.withLock { $0.tokenEndpointStatus } }

    /// Gives an access token for a grant.
    func grant(_ form: [(name: String, value: String)]) throws(GoogleGrant.Refusal) -> (token: String, seconds: Int64) {
        let now = nowSeconds()
        let account = try GoogleGrant.account(form, accounts: state.withLock { $0.accounts }, nowSeconds: now)
        return state.withLock { state in
            state.accessCount += 1
            let token = "ya29.simulated-\(state.accessCount)-\(UInt64.random(in: .min ... .max))"
            state.access[token] = Access(projectID: account.projectID, expiresAt: now + state.accessTokenSeconds)
            return (token, state.accessTokenSeconds)
        }
    }

    /// The project of an access token that is valid now.
    func project(ofAccessToken token: String) -> String? {
        let now = nowSeconds()
        return state.withLock { state in
            guard state.takesAccessTokens, let access = state.access[token], access.expiresAt > now else { return nil }
            return access.projectID
        }
    }

    func tokenState(_ token: String) -> GoogleTokenState { state.withLock { $0.tokens[token] ?? .valid } }

    /// Keeps a message; returns its number.
    func note(_ message: GoogleMessage) -> Int {
        state.withLock { state in
            if state.messages.count >= Self.messageLimit {
                state.messages.removeFirst(Self.messageLimit / 10)
                state.droppedCount += Self.messageLimit / 10
            }
            state.messages.append(message)
            return state.droppedCount + state.messages.count - 1
        }
    }

    /// Notes how a held message was answered.
    func settle(_ number: Int, status: Int) {
        state.withLock { state in
            let index = number - state.droppedCount
            if state.messages.indices.contains(index) { state.messages[index].status = status }
        }
    }

    /// Waits for `release`.
    func hold() async {
        await withCheckedContinuation { continuation in state.withLock { $0.held.append(continuation) } }
    }
}
