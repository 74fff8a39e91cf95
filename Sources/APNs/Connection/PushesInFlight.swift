/// One push on the wire: which of which batch, under which provider token, and since when. Plain bits.
struct PushInFlight {
    /// Stands for "no push" in `lane`.
    static let none = Int32(-1)

    /// `BatchLane.number`.
    var lane = PushInFlight.none
    var index: Int32 = 0
    var tokenGeneration = 0
    var submittedAt: ContinuousClock.Instant
}

/// The pushes on the wire of one connection, by slot of its session.
struct PushesInFlight {
    private var pushes: [PushInFlight]
    private(set) var count = 0

    /// None, with room for so many.
    init(slotCount: Int, now: ContinuousClock.Instant) {
        pushes = Array(repeating: PushInFlight(submittedAt: now), count: slotCount)
    }

    /// All slots, taken or not.
    var slots: Range<Int> { pushes.indices }

    mutating func put(_ push: PushInFlight, in slot: Int) {
        pushes[slot] = push
        count += 1
    }

    /// The push of a slot, which is free afterwards; nil when it is free already.
    mutating func take(slot: Int) -> PushInFlight? {
        let push = pushes[slot]
        guard push.lane != PushInFlight.none else { return nil }
        pushes[slot].lane = PushInFlight.none
        count -= 1
        return push
    }

    /// The push of a slot if it was submitted before that moment.
    mutating func take(slot: Int, submittedBefore moment: ContinuousClock.Instant) -> PushInFlight? {
        pushes[slot].submittedAt < moment ? take(slot: slot) : nil
    }
}
