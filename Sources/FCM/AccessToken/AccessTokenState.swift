package import Gateway

/// An access token in use, and how many came before it in this process.
package struct IssuedAccessToken: Hashable, Sendable {
    /// The token.
    package let value: AccessToken
    /// Rises with every change of the token.
    package let generation: Int
}

/// What may be done with an account now.
package enum AccessTokenAdmission: Hashable, Sendable {
    /// Send; a renewal may begin in the background meanwhile.
    case use(IssuedAccessToken, renewalIsDue: Bool)
    /// Nothing can be sent before a token was fetched.
    case needsToken
    /// Nothing is sent: no token can be had for now. May be asked again after the delay.
    case held(DeliveryReason, delay: Duration)
}

/// What a refusal of the token means for the push that met it.
package enum AccessTokenRefusal: Hashable, Sendable {
    /// A newer token exists or will be fetched: the push is sent once more.
    case resend
    /// A new token did not help lately: the push waits.
    case wait
}

/// The life of one account's access token: decides, and leaves asking and storing to the minter.
///
/// Its end is measured by the monotonic clock from the moment the token was taken over, so a step of the wall clock moves it nowhere.
struct AccessTokenState {
    /// A token is renewed so long before its end. Source: Google's advice is some minutes.
    static let renewalMargin = Duration.seconds(5 * 60)
    /// A token that could not be renewed is used until so long before its end: what is sent with it has to arrive.
    static let lastUseMargin = Duration.seconds(15)
    /// Renewals that a refusal forces keep this distance; so do those of a token that lives for less than the margin.
    static let forcedRenewalDistance = Duration.seconds(60)
    /// First and longest pause after no token could be had; doubles from one to the other.
    static let firstPause = Duration.seconds(5)
    static let longestPause = Duration.seconds(5 * 60)

    private(set) var current: IssuedAccessToken?
    /// Whether somebody is fetching a token.
    var isMinting = false
    private var endsAt = Duration.zero
    private var adoptedAt = Duration.zero
    private var isRefused = false
    private var forcedAt: Duration?
    /// Nothing is sent before: Google gave the token that FCM had refused again.
    private var heldUntil = Duration.zero
    private var failure: (reason: DeliveryReason, until: Duration)?
    private var pause = AccessTokenState.firstPause

    /// The token that FCM refused and that is to be replaced; nil when there is none.
    var refusedToken: AccessToken? { isRefused ? current?.value : nil }

    func admit(now: Duration) -> AccessTokenAdmission {
        guard let current, !isRefused, now < endsAt - Self.lastUseMargin else {
            if let failure, now < failure.until { return .held(failure.reason, delay: failure.until - now) }
            return .needsToken
        }
        guard now >= heldUntil else { return .held(.fcmUnauthenticated, delay: heldUntil - now) }
        let isDue = now >= max(endsAt - Self.renewalMargin, adoptedAt + Self.forcedRenewalDistance)
        return .use(current, renewalIsDue: isDue && now >= (failure?.until ?? .zero))
    }

    /// Whether a token that others fetched may be used, or one of our own is needed.
    func isFresh(_ token: AccessToken, now: Duration, wallSeconds: Int64) -> Bool {
        // Of the token in use, the monotonic clock knows the end better.
        if token == current?.value { return !isRefused && now < endsAt - Self.renewalMargin }
        return .seconds(token.expiresAt - wallSeconds) > Self.renewalMargin
    }

    /// Takes a token over, ours or another daemon's.
    mutating func adopt(_ token: AccessToken, now: Duration, wallSeconds: Int64) {
        failure = nil
        pause = Self.firstPause
        guard token != current?.value else { return keep(now: now) }
        current = IssuedAccessToken(value: token, generation: (current?.generation ?? 0) + 1)
        adoptedAt = now
        heldUntil = .zero
        endsAt = now + .seconds(token.expiresAt - wallSeconds)
        isRefused = false
    }

    /// Google gives the refused token again: it is tried again, when a new one may be asked for as well.
    private mutating func keep(now: Duration) {
        guard isRefused else { return }
        isRefused = false
        heldUntil = max(now, (forcedAt ?? now) + Self.forcedRenewalDistance)
    }

    /// No token could be had.
    mutating func failed(_ reason: DeliveryReason, now: Duration) {
        failure = (reason, now + pause)
        pause = min(pause * 2, Self.longestPause)
    }

    /// FCM refused the token of that generation.
    mutating func refused(generation: Int, now: Duration) -> AccessTokenRefusal {
        guard generation == current?.generation else { return .resend }
        guard !isRefused else { return failure == nil ? .resend : .wait }
        isRefused = true
        if let forcedAt, now - forcedAt < Self.forcedRenewalDistance {
            failure = (.fcmUnauthenticated, forcedAt + Self.forcedRenewalDistance)
            return .wait
        }
        forcedAt = now
        return .resend
    }
}
