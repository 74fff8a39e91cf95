/// Where a connection stands, decided from what happens to it; the connection carries the decisions out.
struct ConnectionLife {
    enum Phase: Equatable {
        /// TCP, TLS or the first SETTINGS are outstanding.
        case connecting
        /// Takes pushes.
        case open
        /// Takes no more pushes; those on the wire are awaited.
        case draining
        case closed
    }

    /// What is to be done when time has passed.
    enum Action: Equatable {
        case nothing
        case ping
        /// The last answer is in.
        case finish
        /// The peer cannot be reached, or not any more.
        case giveUp(reason: StaticString)

        static func == (left: Action, right: Action) -> Bool {
            switch (left, right) {
            case (.nothing, .nothing), (.ping, .ping), (.finish, .finish): true
            case (.giveUp(let one), .giveUp(let other)): one.description == other.description
            default: false
            }
        }
    }

    private(set) var phase = Phase.connecting
    /// Whether APNs took or judged any push on it; a connection on which it only turns pushes away is of no use.
    private(set) var hasAnswered = false
    /// Whether APNs turned a push away on it, being out of service.
    private(set) var hasTurnedAway = false
    private let startedAt: ContinuousClock.Instant
    private var heardAt: ContinuousClock.Instant
    private var pingedAt: ContinuousClock.Instant?
    /// Since when APNs allows no stream, none being open.
    private var starvedSince: ContinuousClock.Instant?
    private let connectTimeout: Duration
    private let pingInterval: Duration
    private let pingTimeout: Duration

    init(configuration: APNsConfiguration, now: ContinuousClock.Instant) {
        startedAt = now
        heardAt = now
        connectTimeout = configuration.connectTimeout
        pingInterval = configuration.pingInterval
        pingTimeout = configuration.pingTimeout
    }

    /// The first SETTINGS arrived.
    mutating func settingsArrived() { if phase == .connecting { phase = .open } }

    /// Bytes arrived, so the peer is there.
    mutating func heard(at now: ContinuousClock.Instant) {
        heardAt = now
        pingedAt = nil
    }

    /// APNs took a push or judged it.
    mutating func answered() { hasAnswered = true }

    /// APNs answered that it takes no pushes now.
    mutating func turnedAway() { hasTurnedAway = true }

    /// GOAWAY, an answer that asks for another connection, or silence: nothing new is sent on it.
    mutating func drain() { if phase == .open || phase == .connecting { phase = .draining } }

    mutating func closed() { phase = .closed }

    /// Whether nothing was heard since that moment.
    func isSilent(since moment: ContinuousClock.Instant) -> Bool { heardAt <= moment }

    /// What is to be done now.
    ///
    /// - Parameter streamLimit: how many streams APNs allows.
    mutating func tick(now: ContinuousClock.Instant, openStreamCount: Int, streamLimit: Int) -> Action {
        switch phase {
        case .closed: return .nothing
        case .connecting:
            return now - startedAt >= connectTimeout ? .giveUp(reason: "no SETTINGS in time") : .nothing
        case .draining where openStreamCount == 0: return .finish
        case .open, .draining:
            // A connection that may not be used keeps the pool from opening another one, however long it answers PING.
            starvedSince = phase == .open && streamLimit == 0 && openStreamCount == 0 ? starvedSince ?? now : nil
            if let starvedSince, now - starvedSince >= connectTimeout {
                return .giveUp(reason: "no stream was allowed in time")
            }
            if let pingedAt {
                return now - pingedAt >= pingTimeout ? .giveUp(reason: "PING was not answered") : .nothing
            }
            guard now - heardAt >= pingInterval else { return .nothing }
            pingedAt = now
            return .ping
        }
    }
}
