/// Counts the chunks a worker holds, from claim to record, in all and by app, and decides whose may be claimed.
///
/// An app whose pushes hang leaves room for the others: no app holds more than a multiple of what is free, so that two that hang leave
/// room for a third. An app whose last chunk was turned away whole is down: one chunk finds out when its push service is back, and the
/// rest stays in the database.
struct OpenChunks {
    private let limits: FanOutLimits
    private(set) var count = 0
    private var countByApplication: [ApplicationID: Int] = [:]
    /// Apps that are down. Bounded by the number of apps.
    private var down: Set<ApplicationID> = []

    init(_ limits: FanOutLimits) { self.limits = limits }

    mutating func open(_ application: ApplicationID) {
        count += 1
        countByApplication[application, default: 0] += 1
    }

    mutating func close(_ application: ApplicationID) {
        precondition(count > 0, "a chunk was closed twice")
        count -= 1
        let left = (countByApplication[application] ?? 1) - 1
        countByApplication[application] = left == 0 ? nil : left
    }

    /// What the outcomes of a chunk say of its app.
    mutating func notice(_ sign: ServiceSign, of application: ApplicationID) {
        switch sign {
        case .serving: if !down.isEmpty { down.remove(application) }
        case .down: down.insert(application)
        case .none: break
        }
    }

    /// Apps of which no further chunk is claimed now.
    var fullApplications: [ApplicationID] {
        let share = min(limits.openChunkCountPerApplication, limits.shareOfFreeChunks * (limits.openChunkCount - count))
        let full = countByApplication.filter { $0.value >= (down.contains($0.key) ? 1 : share) }.map(\.key)
        let downCount = down.reduce(0) { $0 + (countByApplication[$1] ?? 0) }
        guard downCount >= limits.openChunkCountOfDown else { return full }
        return full + down.filter { countByApplication[$0] == nil }
    }
}

/// What a chunk's outcomes say of the push services of its app.
enum ServiceSign {
    /// One of them took a push, or judged one.
    case serving
    /// They took none, and wanted none.
    case down
    /// Nothing was sent, or not answered.
    case none

    init(_ outcomes: [PushOutcome]) {
        var isDown = false
        for outcome in outcomes {
            switch outcome {
            case .accepted, .rejected, .tokenDead, .deferred(.tooManyRequests, _):
                self = .serving
                return
            case .deferred: isDown = true
            case .notSent, .unknown: break
            }
        }
        self = isDown ? .down : .none
    }
}

/// A chunk whose outcomes wait to be recorded.
struct FinishedChunk {
    /// The number under which it was claimed; the worker may have another one since.
    let owner: WorkerID
    let application: ApplicationID
    let record: ChunkRecord
    let sign: ServiceSign
    /// Closed once the record is committed.
    let page: (any JournalPage)?
    var deviceCount: Int { record.deliveries.count + record.retries.count }
}
