package import Gateway

/// A provider token in use, and how many came before it in this process.
package struct IssuedToken: Hashable, Sendable {
    /// The token.
    package let value: ProviderToken
    /// Rises with every change of the token.
    package let generation: Int
}

/// What may be done with a key now.
package enum TokenAdmission: Hashable, Sendable {
    /// Send; a renewal may begin in the background meanwhile.
    case use(IssuedToken, renewalIsDue: Bool)
    /// Send one push and wait for its answer: APNs refused the key lately.
    case probe(IssuedToken)
    /// Nothing can be sent before a token was fetched or made, or before it was looked whether the refused one still is the newest.
    case needsToken
    /// Nothing is sent: APNs refuses the key, or there is no key. May be asked again after the delay.
    case held(DeliveryReason, delay: Duration)
}

/// What a refusal of the token means for the push that met it.
package enum TokenRefusal: Hashable, Sendable {
    /// A newer token exists or is being made: the push is sent once more, on a new connection.
    case resend
    /// The push waits; with `opensCircuit` nothing else is sent for a while either.
    case wait(opensCircuit: Bool)
}

/// The life of one key's provider token: decides, and leaves signing and storing to the minter.
///
/// Apple wants a token to live 20 to 60 minutes. Ages are measured by the monotonic clock from the moment the token was
/// taken over, so a step of the wall clock changes none; the step itself is noticed, because `iat` is then wrong.
struct ProviderTokenState {
    /// A token is renewed at this age. Source: Apple refuses it at 60 minutes.
    static let renewalAge = Duration.seconds(50 * 60)
    /// A token that could not be renewed is used up to this age.
    static let lastUseAge = Duration.seconds(59 * 60)
    /// Forced renewals (refused as expired, clock stepped) keep this distance. Source: Apple, 20 minutes.
    static let forcedRenewalDistance = Duration.seconds(20 * 60)
    /// Difference between the clocks that counts as a step of the wall clock, in seconds.
    static let clockStepSeconds: Int64 = 5 * 60
    /// Refusals in a row, without any other answer between them, that hold a key back.
    static let refusalCount = 3
    /// While a key is held back, one push in this time finds out whether it is accepted again.
    static let probeInterval = Duration.seconds(60)
    /// Pause after a token could not be made.
    static let failurePause = Duration.seconds(5)

    private(set) var current: IssuedToken?
    /// Whether somebody is fetching or making a token.
    var isMinting = false
    /// When `iat` was, by the monotonic clock.
    private var issuedAt = Duration.zero
    /// Wall clock less monotonic clock when the token was taken over, in seconds.
    private var clockDifference: Int64 = 0
    /// Whether a new token is to take the place of one that is not at its age.
    private(set) var isForced = false
    /// What APNs said when it forced the renewal; nil when the clock stepped.
    private var forcedBy: DeliveryReason?
    private var forcedAt: Duration?
    /// The newest generation that APNs called expired; 0 while it did so of none.
    private var expiredGeneration = 0
    private var refusalsInARow = 0
    private var circuit: (reason: DeliveryReason, nextProbe: Duration)?
    /// Whether the vault was asked for the token that the next probe is sent with: its key may have been replaced since.
    private var probeIsLookedUp = false
    private var failure: (reason: DeliveryReason, until: Duration)?

    /// Whether APNs refuses the key, as far as it was asked.
    var isHeld: Bool { circuit != nil }

    /// The newest generation that APNs called expired, and that is not to be used any more; 0 for none.
    var spoiltGeneration: Int {
        let isInUse = expiredGeneration == current?.generation && !isForced
        return isInUse ? expiredGeneration - 1 : expiredGeneration
    }

    mutating func admit(now: Duration, wallSeconds: Int64) -> TokenAdmission {
        noticeClockStep(now: now, wallSeconds: wallSeconds)
        guard let current, !isForced, now - issuedAt < Self.lastUseAge else {
            if let failure, now < failure.until { return .held(failure.reason, delay: failure.until - now) }
            return .needsToken
        }
        if let open = circuit {
            guard now >= open.nextProbe else { return .held(open.reason, delay: open.nextProbe - now) }
            guard probeIsLookedUp else { return .needsToken }
            probeIsLookedUp = false
            circuit = (open.reason, now + Self.probeInterval)
            return .probe(current)
        }
        return .use(current, renewalIsDue: now - issuedAt >= Self.renewalAge && now >= (failure?.until ?? .zero))
    }

    /// Whether the token of that generation was not refused since it was handed out.
    func isUsable(generation: Int) -> Bool { current?.generation == generation && !isForced && circuit == nil }

    /// Whether a token that others made may be used, or one of our own is needed.
    func isFresh(_ token: ProviderToken, now: Duration, wallSeconds: Int64) -> Bool {
        // Of the token in use, the monotonic clock knows the age better.
        if token == current?.value { return !isForced && now - issuedAt < Self.renewalAge }
        let age = wallSeconds - token.issuedAt
        return age > -Self.clockStepSeconds && .seconds(age) < Self.renewalAge
    }

    /// Takes a token over, ours or another daemon's.
    mutating func adopt(_ token: ProviderToken, now: Duration, wallSeconds: Int64) {
        failure = nil
        probeIsLookedUp = circuit != nil
        guard token != current?.value else { return keep(now: now) }
        // Made with a key that was replaced, perhaps: it is tried at once.
        if let held = circuit { circuit = (held.reason, now) }
        current = IssuedToken(value: token, generation: (current?.generation ?? 0) + 1)
        issuedAt = now - .seconds(max(wallSeconds - token.issuedAt, 0))
        clockDifference = wallSeconds - now.components.seconds
        isForced = false
        refusalsInARow = 0
    }

    /// The token stays, although its renewal was forced: one was renewed so a short time ago, by whichever daemon.
    private mutating func keep(now: Duration) {
        guard isForced else { return }
        isForced = false
        // Whoever holds the token knows when it may be replaced; it is asked again by the next refusal.
        forcedAt = nil
        if let forcedBy { _ = openCircuit(forcedBy, now: now) }
    }

    /// No token could be made.
    mutating func failed(_ reason: DeliveryReason, now: Duration) {
        failure = (reason, now + Self.failurePause)
        probeIsLookedUp = circuit != nil
    }

    /// APNs refused the token of that generation.
    mutating func refused(_ reason: DeliveryReason, generation: Int, now: Duration) -> TokenRefusal {
        if reason == .expiredProviderToken { expiredGeneration = max(expiredGeneration, generation) }
        guard generation == current?.generation, !isForced else { return .resend }
        if reason == .expiredProviderToken {
            if forceRenewal(now: now, by: reason) { return .resend }
            return .wait(opensCircuit: openCircuit(reason, now: now))
        }
        // Another token is the last thing that helps.
        if reason == .tooManyProviderTokenUpdates { return .wait(opensCircuit: openCircuit(reason, now: now)) }
        refusalsInARow += 1
        guard refusalsInARow >= Self.refusalCount || circuit != nil else { return .wait(opensCircuit: false) }
        return .wait(opensCircuit: openCircuit(reason, now: now))
    }

    /// APNs answered something else, so it took the token. Returns whether the key was held back until now.
    mutating func accepted(generation: Int) -> Bool {
        guard generation == current?.generation else { return false }
        refusalsInARow = 0
        defer { circuit = nil }
        return circuit != nil
    }

    private mutating func openCircuit(_ reason: DeliveryReason, now: Duration) -> Bool {
        let wasClosed = circuit == nil
        circuit = (reason, now + Self.probeInterval)
        return wasClosed
    }

    private mutating func forceRenewal(now: Duration, by reason: DeliveryReason?) -> Bool {
        if let forcedAt, now - forcedAt < Self.forcedRenewalDistance { return false }
        forcedAt = now
        forcedBy = reason
        isForced = true
        return true
    }

    private mutating func noticeClockStep(now: Duration, wallSeconds: Int64) {
        guard current != nil, !isForced else { return }
        let step = wallSeconds - now.components.seconds - clockDifference
        guard abs(step) >= Self.clockStepSeconds else { return }
        clockDifference += step
        _ = forceRenewal(now: now, by: nil)
    }
}
