import Gateway

/// The batches that wait, in turns: one app after the other, and within an app one batch after the other.
///
/// An app with many batches therefore gets no more streams than one with a single batch.
struct LaneRing {
    /// Pushes a batch may submit in one turn.
    static let turnCount = 32

    private struct Queue {
        let application: ApplicationID
        var lanes: [BatchLane]
    }

    private var queues: [Queue] = []
    private var turn = 0
    /// By number; nil where the number is free.
    private var lanesByNumber: [BatchLane?] = []

    /// Batches in the ring.
    private(set) var count = 0
    /// Pushes of all batches that are not on the wire and not done.
    var waitingCount: Int { queues.reduce(0) { $0 + $1.lanes.reduce(0) { $0 + $1.waitingCount } } }

    /// The number for the next batch that is added.
    var freeNumber: Int32 { Int32(lanesByNumber.firstIndex { $0 == nil } ?? lanesByNumber.count) }

    /// The batch of that number, which has pushes on the wire or waiting.
    func lane(_ number: Int32) -> BatchLane {
        guard let lane = lanesByNumber[Int(number)] else { preconditionFailure("a push outlived its batch") }
        return lane
    }

    mutating func add(_ lane: BatchLane) {
        count += 1
        if Int(lane.number) == lanesByNumber.count { lanesByNumber.append(lane) } else { lanesByNumber[Int(lane.number)] = lane }
        if let index = queues.firstIndex(where: { $0.application == lane.batch.application.id }) {
            queues[index].lanes.append(lane)
        } else {
            queues.append(Queue(application: lane.batch.application.id, lanes: [lane]))
        }
    }

    /// The batch whose turn it is; nil when no push waits.
    mutating func next() -> BatchLane? {
        for _ in 0..<queues.count {
            turn = (turn + 1) % queues.count
            let position = queues[turn].lanes.firstIndex { $0.waitingCount > 0 }
            guard let position else { continue }
            let lane = queues[turn].lanes.remove(at: position)
            queues[turn].lanes.append(lane)
            return lane
        }
        return nil
    }

    func forEach(_ body: (BatchLane) -> Void) {
        for queue in queues { for lane in queue.lanes { body(lane) } }
    }

    /// The batches with pushes that wait; and of each app's, whether it has waited longest.
    func forEachWaiting(_ body: (BatchLane, _ isFirst: Bool) -> Void) {
        for queue in queues {
            let waiting = queue.lanes.filter { $0.waitingCount > 0 }
            guard let first = waiting.min(by: { $0.enqueuedAt < $1.enqueuedAt }) else { continue }
            for lane in waiting { body(lane, lane === first) }
        }
    }

    /// Forgets the batches that are done.
    mutating func removeFinished() {
        guard lanesByNumber.contains(where: { $0?.isFinished == true }) else { return }
        for index in lanesByNumber.indices where lanesByNumber[index]?.isFinished == true { lanesByNumber[index] = nil }
        for index in queues.indices { queues[index].lanes.removeAll(where: \.isFinished) }
        queues.removeAll(where: \.lanes.isEmpty)
        count = queues.reduce(0) { $0 + $1.lanes.count }
    }
}
