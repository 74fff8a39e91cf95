/// What a journal keeps of one push: one number, written as the push goes its way.
package struct PushMark: RawRepresentable, Hashable, Sendable {
    /// 0, -1, or a `DeliveryReason` above 0.
    package let rawValue: Int16
    package init(rawValue: Int16) { self.rawValue = rawValue }

    /// It never left, or was provably not processed: sending it repeats nothing. What fresh memory says.
    package static let unsent = PushMark(rawValue: 0)
    /// It may be on the wire, and no outcome is known.
    package static let submitted = PushMark(rawValue: -1)

    /// What is known of a push with this outcome. One that is to be tried again later counts as unsent.
    package init(_ outcome: PushOutcome) {
        self =
            switch outcome {
            case .accepted: PushMark(rawValue: DeliveryReason.accepted.rawValue)
            case .rejected(let reason), .tokenDead(let reason, _): PushMark(rawValue: reason.rawValue)
            case .deferred, .notSent: .unsent
            case .unknown: .submitted
            }
    }

    /// The outcome to store for the dead process; nil when no such mark is ever made.
    ///
    /// A token that APNs called dead stays, for the journal holds none: the next push to it finds out again.
    package var outcome: PushOutcome? {
        switch self {
        case .unsent: .notSent
        case .submitted: .unknown
        case PushMark(.accepted): .accepted
        // Also of an accepted start that put its device on a channel: the reason alone is stored, and says so.
        default: rawValue > 0 ? .rejected(DeliveryReason(rawValue: rawValue)) : nil
        }
    }
}

/// Where this process keeps, outside PostgreSQL, which pushes it put on the wire, so that its death leaves only those in doubt.
///
/// Implemented by the journal adapter with files that outlive the process, not the machine.
package protocol PushJournals: Sendable {
    /// Begins the journal of a worker that is about to register; nil when none can be written, and the worker does without.
    func begin() -> (any WorkerJournal)?
    /// The journals whose process is dead. Each is held against other processes for as long as the object lives.
    func abandoned() -> [any AbandonedJournal]
}

/// The journal of one registered worker.
package protocol WorkerJournal: AnyObject, Sendable {
    /// What `worker.journal` says.
    var id: UUID { get }
    /// Makes the page of a claimed chunk, before its first push can leave.
    ///
    /// Nil when it does not fit; from then on a chunk without a page counts as one that may have been sent.
    /// - Parameter attempts: at the index of their devices; empty when none was tried before.
    func openPage(of chunk: ChunkID, devices: [Int64], attempts: [Int16]) -> (any JournalPage)?
    /// Deletes it: the worker left in order, or others have taken all it had.
    func remove()
}

/// What becomes of the pushes of one chunk. Marking stores two bytes: no lock, no allocation, no system call.
package protocol JournalPage: AnyObject, Sendable {
    /// Notes what is known of the push at that index of the page, on the loop that sends it.
    func mark(_ index: Int, _ mark: PushMark)
    /// Frees the page: the chunk's outcomes are committed, or the chunk belongs to somebody else.
    func close()
}

/// The part of a page that belongs to one batch.
package struct PushMarks: Sendable {
    private let page: any JournalPage
    private let first: Int
    private let accepted: DeliveryReason

    /// - Parameters:
    ///   - first: the index of the batch's first push on the page.
    ///   - accepted: what an accepted push of the batch is recorded as.
    package init(page: any JournalPage, first: Int, accepted: DeliveryReason = .accepted) {
        self.page = page
        self.first = first
        self.accepted = accepted
    }

    /// To be called before a byte of the push can reach the socket.
    package func submitted(_ index: Int) { page.mark(first + index, .submitted) }
    /// The push was provably not processed, and waits again.
    package func putBack(_ index: Int) { page.mark(first + index, .unsent) }
    /// The push has its outcome.
    package func ended(_ index: Int, _ outcome: PushOutcome) {
        page.mark(first + index, outcome == .accepted ? PushMark(rawValue: accepted.rawValue) : PushMark(outcome))
    }
}

/// The journal of a worker whose process is dead.
package protocol AbandonedJournal: AnyObject, Sendable {
    /// What `worker.journal` says.
    var id: UUID { get }
    /// What it holds. Throws when it cannot be believed; nothing is known of any chunk then.
    func read() throws(JournalDistrust) -> JournalContents
    /// Deletes it.
    func remove()
    /// Deletes it if it was not written for so long that nobody can need it.
    func removeIfForgotten()
}

/// Why a journal is not believed.
package enum JournalDistrust: Error, Hashable, Sendable, CustomStringConvertible {
    /// The machine was restarted since: what the process wrote last may never have reached the disk.
    case otherBoot
    /// It was written by another version of this program.
    case otherVersion(UInt32)
    /// It is not what a worker wrote under this name.
    case damaged(Damage)
    /// The system did not let it be read.
    case unreadable(String)

    /// What about it is wrong.
    package enum Damage: String, Hashable, Sendable {
        case size = "its size is wrong"
        case head = "its head is not that of a journal"
        case name = "it belongs under another name"
    }

    package var description: String {
        switch self {
        case .otherBoot: "the machine was restarted since it was written"
        case .otherVersion(let version): "it was written in format \(version)"
        case .damaged(let damage): damage.rawValue
        case .unreadable(let reason): reason
        }
    }
}

/// What a dead worker's journal says.
package struct JournalContents: Sendable {
    /// The chunks that were open.
    package let pages: [JournaledChunk]
    /// Whether every other claimed chunk of the worker was never sent.
    package let isComplete: Bool
    /// Puts both together.
    package init(pages: [JournaledChunk], isComplete: Bool) {
        self.pages = pages
        self.isComplete = isComplete
    }
}

/// What a journal says of one chunk.
package struct JournaledChunk: Sendable {
    package let id: ChunkID
    /// `delivery.device_id`, in no order.
    package let devices: [Int64]
    /// How often each was tried before, at the same index.
    package let attempts: [Int16]
    /// How far each got, at the same index.
    package let outcomes: [PushOutcome]
    /// Puts together what was read; the lists have equal lengths.
    package init(id: ChunkID, devices: [Int64], attempts: [Int16], outcomes: [PushOutcome]) {
        precondition(devices.count == attempts.count && devices.count == outcomes.count, "lists of a page differ in length")
        self.id = id
        self.devices = devices
        self.attempts = attempts
        self.outcomes = outcomes
    }

    /// What is to be stored for the dead worker: outcomes it knew, `unknown` for a start on the wire, and the rest to be sent.
    func record(for job: PushJob, isSuperseded: Bool, now: UnixMilliseconds, jitter: () -> Double) -> ChunkRecord {
        let policy = RetryPolicy(event: job.content.event, expiresAt: job.expiry)
        var record = ChunkRecord(chunk: id, event: job.content.event)
        for index in devices.indices.sorted(by: { devices[$0] < devices[$1] }) {
            let decision = policy.decide(
                outcomes[index], attempt: attempts[index], isSuperseded: isSuperseded, now: now, jitter: jitter())
            switch decision {
            case .final(let reason):
                record.deliveries.append(DeliveryRecord(device: devices[index], reason: reason, at: now))
            case .retry(let attempt, let notBefore):
                // What never left costs a try here: a push that keeps killing its daemon must come to an end.
                let attempt = outcomes[index] == .notSent ? attempt + 1 : attempt
                if attempt < RetryPolicy.attemptCount {
                    record.retries.append(RetryRecord(device: devices[index], attempt: attempt, notBefore: notBefore))
                } else {
                    record.deliveries.append(DeliveryRecord(device: devices[index], reason: .attemptsExhausted, at: now))
                }
            }
        }
        return record
    }
}
