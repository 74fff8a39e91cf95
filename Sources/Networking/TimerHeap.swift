/// Names one scheduled timer of one loop; it names nothing once that timer has fired or was cancelled.
package struct TimerID: Sendable, Hashable {
    let slot: Int
    let generation: UInt64
}

/// Timers in order of their deadline: scheduling, cancelling and taking the first cost O(log n).
///
/// The number of timers is bounded by what owns them: each connection and each sleeping task holds a few.
struct TimerHeap {
    typealias Action = @Sendable () -> Void

    private struct Entry {
        /// Nanoseconds of the monotonic clock.
        let deadline: UInt64
        /// Order of scheduling; timers of one deadline fire in it.
        let sequence: UInt64
        let slot: Int

        func isBefore(_ other: Entry) -> Bool {
            deadline != other.deadline ? deadline < other.deadline : sequence < other.sequence
        }
    }

    private struct Slot {
        var generation: UInt64
        var position: Int
        var action: Action?
        var firesOnStop: Bool
    }

    private var entries: [Entry] = []
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []

    /// The sequence number the next timer gets; timers scheduled from now on are not below it.
    private(set) var nextSequence: UInt64 = 0

    var count: Int { entries.count }
    /// When the first timer is due, in nanoseconds of the monotonic clock; nil when there is none.
    var nextDeadline: UInt64? { entries.first?.deadline }

    /// Adds a timer. `firesOnStop`: its action also runs when the loop stops, because somebody waits for it.
    mutating func schedule(at deadline: UInt64, firesOnStop: Bool, _ action: @escaping Action) -> TimerID {
        let sequence = nextSequence
        nextSequence += 1
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = slots.count
            slots.append(Slot(generation: 0, position: 0, action: nil, firesOnStop: false))
        }
        slots[slot] = Slot(generation: sequence, position: entries.count, action: action, firesOnStop: firesOnStop)
        entries.append(Entry(deadline: deadline, sequence: sequence, slot: slot))
        siftUp(entries.count - 1)
        return TimerID(slot: slot, generation: sequence)
    }

    /// Forgets a timer; one that has fired or was cancelled before is ignored.
    mutating func cancel(_ timer: TimerID) {
        guard slots.indices.contains(timer.slot), slots[timer.slot].action != nil,
            slots[timer.slot].generation == timer.generation
        else { return }
        _ = remove(at: slots[timer.slot].position)
    }

    /// Takes the first timer that is due at `now` and was scheduled before `sequence`.
    ///
    /// The second condition bounds a round of firing: a timer that schedules itself anew with no delay waits for the next turn.
    mutating func takeDue(at now: UInt64, scheduledBefore sequence: UInt64) -> Action? {
        guard let first = entries.first, first.deadline <= now, first.sequence < sequence else { return nil }
        return remove(at: 0)
    }

    /// Empties the heap and returns the actions somebody waits for.
    mutating func takeAllThatFireOnStop() -> [Action] {
        let waiting = entries.sorted { $0.isBefore($1) }
            .compactMap { slots[$0.slot].firesOnStop ? slots[$0.slot].action : nil }
        entries.removeAll()
        slots.removeAll()
        freeSlots.removeAll()
        return waiting
    }

    private mutating func remove(at position: Int) -> Action? {
        let slot = entries[position].slot
        let action = slots[slot].action
        slots[slot].action = nil
        freeSlots.append(slot)
        let last = entries.removeLast()
        if position < entries.count {
            place(last, at: position)
            siftDown(position)
            siftUp(position)
        }
        return action
    }

    private mutating func place(_ entry: Entry, at position: Int) {
        entries[position] = entry
        slots[entry.slot].position = position
    }

    private mutating func siftUp(_ start: Int) {
        let entry = entries[start]
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard entry.isBefore(entries[parent]) else { break }
            place(entries[parent], at: position)
            position = parent
        }
        place(entry, at: position)
    }

    private mutating func siftDown(_ start: Int) {
        let entry = entries[start]
        var position = start
        while true {
            var child = 2 * position + 1
            guard child < entries.count else { break }
            if child + 1 < entries.count, entries[child + 1].isBefore(entries[child]) { child += 1 }
            guard entries[child].isBefore(entry) else { break }
            place(entries[child], at: position)
            position = child
        }
        place(entry, at: position)
    }
}
