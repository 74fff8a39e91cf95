import Gateway
import Synchronization

/// The journal of a worker that lives, as a mapped file that this process has locked.
// Its memory is written by one thread for each slot: a slot belongs to one page until that is closed, and which slots are free is
// behind a lock. Nobody in this process reads it.
final class JournalFile: WorkerJournal, @unchecked Sendable {
    let id: UUID
    private let layout: JournalLayout
    private let file: MappedFile
    private let freeSlots: Mutex<[Int]>
    private let unlink: @Sendable () -> Void

    /// Writes the head; there are no pages.
    ///
    /// - Parameter unlink: removes the file's name.
    init(id: UUID, bootID: UUID, layout: JournalLayout, file: MappedFile, unlink: @escaping @Sendable () -> Void) {
        self.id = id
        self.layout = layout
        self.file = file
        self.unlink = unlink
        freeSlots = Mutex(Array((0..<layout.slotCount).reversed()))
        typealias Head = JournalLayout.Head
        file.store(JournalLayout.magic, at: Head.magic)
        file.store(JournalLayout.version, at: Head.version)
        file.store(UInt32(layout.slotCount), at: Head.slotCount)
        file.store(UInt32(layout.deviceCount), at: Head.deviceCount)
        for (offset, uuid) in [(Head.id, id), (Head.bootID, bootID)] {
            file.store(uuid.high, at: offset)
            file.store(uuid.low, at: offset + 8)
        }
        file.store(layout.headChecksum(id: id, bootID: bootID), at: Head.checksum)
    }

    func openPage(of chunk: ChunkID, devices: [Int64], attempts: [Int16]) -> (any JournalPage)? {
        precondition(attempts.isEmpty || attempts.count == devices.count, "devices and attempts differ in number")
        guard devices.count <= layout.deviceCount, let slot = freeSlots.withLock({ $0.popLast() }) else {
            file.store(1 as UInt32, at: JournalLayout.Head.hasGaps)
            atomicMemoryFence(ordering: .sequentiallyConsistent)
            return nil
        }
        let head = layout.slot(slot)
        file.store(UInt32(devices.count), at: head + JournalLayout.Slot.deviceCount)
        file.store(UInt64(bitPattern: chunk.notification.rawValue), at: head + JournalLayout.Slot.notification)
        file.store(UInt32(bitPattern: chunk.number), at: head + JournalLayout.Slot.number)
        file.store(UInt32(bitPattern: chunk.epoch), at: head + JournalLayout.Slot.epoch)
        file.store(JournalLayout.slotChecksum(of: chunk, devices: devices), at: head + JournalLayout.Slot.checksum)
        let first = (devices: layout.devices(ofSlot: slot), attempts: layout.attempts(ofSlot: slot))
        for (index, device) in devices.enumerated() { file.store(UInt64(bitPattern: device), at: first.devices + 8 * index) }
        file.clear(first.attempts..<first.attempts + 4 * layout.deviceCount)
        for (index, attempt) in attempts.enumerated() { file.store(attempt, at: first.attempts + 2 * index) }
        setState(1, ofSlot: slot)
        return JournalFilePage(journal: self, file: file, slot: slot, marks: layout.marks(ofSlot: slot), count: devices.count)
    }

    func remove() { unlink() }

    fileprivate func closePage(inSlot slot: Int) {
        setState(0, ofSlot: slot)
        freeSlots.withLock { $0.append(slot) }
    }

    /// The process may end between any two stores: those before come first, those after come later.
    private func setState(_ state: UInt32, ofSlot slot: Int) {
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        file.store(state, at: layout.slot(slot) + JournalLayout.Slot.state)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
    }
}

/// The page of one chunk.
// As its journal: the marks belong to the loop that sends the chunk, and `isOpen` is behind a lock.
private final class JournalFilePage: JournalPage, @unchecked Sendable {
    private let journal: JournalFile
    private let file: MappedFile
    private let slot: Int
    private let marks: Int
    private let count: Int
    private let isOpen = Mutex(true)

    init(journal: JournalFile, file: MappedFile, slot: Int, marks: Int, count: Int) {
        self.journal = journal
        self.file = file
        self.slot = slot
        self.marks = marks
        self.count = count
    }

    func mark(_ index: Int, _ mark: PushMark) {
        precondition(index >= 0 && index < count, "a push is not on its page")
        file.store(mark.rawValue, at: marks + 2 * index)
    }

    func close() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if wasOpen { journal.closePage(inSlot: slot) }
    }
}
