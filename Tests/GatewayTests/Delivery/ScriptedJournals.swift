import Synchronization

@testable import Gateway

/// Journals in memory that a test reads, and abandoned ones that it writes.
final class ScriptedJournals: PushJournals {
    struct State {
        var begun: [ScriptedJournal] = []
        var abandoned: [ScriptedAbandonedJournal] = []
        var isOff = false
    }
    let state = Mutex(State())

    var begun: [ScriptedJournal] { state.withLock { $0.begun } }
    var pages: [ScriptedPage] { begun.flatMap(\.pages) }

    func begin() -> (any WorkerJournal)? {
        state.withLock { state in
            guard !state.isOff else { return nil }
            let journal = ScriptedJournal()
            state.begun.append(journal)
            return journal
        }
    }

    /// Those that were not removed.
    func abandoned() -> [any AbandonedJournal] { state.withLock { $0.abandoned.filter { !$0.isRemoved } } }

    func abandon(_ contents: Result<JournalContents, JournalDistrust>) -> ScriptedAbandonedJournal {
        let journal = ScriptedAbandonedJournal(contents)
        state.withLock { $0.abandoned.append(journal) }
        return journal
    }
}

final class ScriptedJournal: WorkerJournal {
    let id = UUID.random()
    private let state = Mutex<(pages: [ScriptedPage], isRemoved: Bool)>(([], false))

    var pages: [ScriptedPage] { state.withLock { $0.pages } }
    var isRemoved: Bool { state.withLock { $0.isRemoved } }

    func openPage(of chunk: ChunkID, devices: [Int64], attempts: [Int16]) -> (any JournalPage)? {
        let page = ScriptedPage(chunk: chunk, devices: devices, attempts: attempts)
        state.withLock { $0.pages.append(page) }
        return page
    }

    func remove() { state.withLock { $0.isRemoved = true } }
}

final class ScriptedPage: JournalPage {
    let chunk: ChunkID
    let devices: [Int64]
    let attempts: [Int16]
    private let state: Mutex<(marks: [PushMark], isClosed: Bool)>

    init(chunk: ChunkID, devices: [Int64], attempts: [Int16]) {
        self.chunk = chunk
        self.devices = devices
        self.attempts = attempts
        state = Mutex((Array(repeating: .unsent, count: devices.count), false))
    }

    var marks: [PushMark] { state.withLock { $0.marks } }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    func mark(_ index: Int, _ mark: PushMark) { state.withLock { $0.marks[index] = mark } }
    func close() { state.withLock { $0.isClosed = true } }
}

final class ScriptedAbandonedJournal: AbandonedJournal {
    let id = UUID.random()
    private let contents: Result<JournalContents, JournalDistrust>
    private let state = Mutex<(isRemoved: Bool, isForgotten: Bool)>((false, false))

    init(_ contents: Result<JournalContents, JournalDistrust>) { self.contents = contents }

    var isRemoved: Bool { state.withLock { $0.isRemoved } }
    /// Whether it was asked to go if nobody can need it.
    var isForgotten: Bool { state.withLock { $0.isForgotten } }

    func read() throws(JournalDistrust) -> JournalContents { try contents.get() }
    func remove() { state.withLock { $0.isRemoved = true } }
    func removeIfForgotten() { state.withLock { $0.isForgotten = true } }
}
