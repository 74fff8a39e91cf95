/// Counts the chunks a worker holds, from claim to record, in all and by app.
struct OpenChunks {
    private(set) var count = 0
    private var countByApplication: [ApplicationID: Int] = [:]

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

    /// Apps that hold their share.
    func applications(holding limit: Int) -> [ApplicationID] {
        countByApplication.filter { $0.value >= limit }.map(\.key)
    }
}

/// A chunk whose outcomes wait to be recorded.
struct FinishedChunk {
    let application: ApplicationID
    let record: ChunkRecord
    /// Closed once the record is committed.
    let page: (any JournalPage)?
    var deviceCount: Int { record.deliveries.count + record.retries.count }
}
