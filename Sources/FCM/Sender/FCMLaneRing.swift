import Gateway

/// The batches that wait, in turns: one app after the other, so that an app with many batches gets no more than one with a single batch.
struct FCMLaneRing {
    /// Pushes a batch may submit in one turn.
    static let turnCount = 32

    private var lanes: [Int: FCMLane] = [:]
    /// Numbers of the batches of each app, in turns.
    private var queues: [(application: ApplicationID, numbers: [Int])] = []
    private var turn = 0
    private var lastNumber = 0

    /// Batches in the ring.
    var count: Int { lanes.count }
    /// All of them.
    var all: [FCMLane] { Array(lanes.values) }

    /// The number for the next batch that is added.
    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// The batch of that number, which has pushes with the client or waiting; nil when it is finished.
    func lane(_ number: Int) -> FCMLane? { lanes[number] }

    mutating func add(_ lane: FCMLane) {
        lanes[lane.number] = lane
        let application = lane.batch.application.id
        if let index = queues.firstIndex(where: { $0.application == application }) {
            queues[index].numbers.append(lane.number)
        } else {
            queues.append((application, [lane.number]))
        }
    }

    /// The batch whose turn it is; nil when no push waits but those of the excluded accounts.
    mutating func next(excluding accounts: Set<FCMAccount>) -> FCMLane? {
        for _ in 0..<queues.count {
            turn = (turn + 1) % queues.count
            let position = queues[turn].numbers.firstIndex { number in
                lanes[number].map { $0.waitingCount > 0 && !accounts.contains($0.account) } ?? false
            }
            guard let position else { continue }
            let number = queues[turn].numbers.remove(at: position)
            queues[turn].numbers.append(number)
            return lanes[number]
        }
        return nil
    }

    /// Forgets the batches that are done.
    mutating func removeFinished() {
        guard lanes.values.contains(where: \.isFinished) else { return }
        lanes = lanes.filter { !$0.value.isFinished }
        for index in queues.indices { queues[index].numbers.removeAll { lanes[$0] == nil } }
        queues.removeAll(where: \.numbers.isEmpty)
    }
}
