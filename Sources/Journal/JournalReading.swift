import Gateway

extension JournalContents {
    /// Reads a whole journal file, whatever it holds.
    ///
    /// - Parameters:
    ///   - id: what the file's name says.
    ///   - bootID: of the running system.
    init(bytes: [UInt8], id: UUID, bootID: UUID) throws(JournalDistrust) {
        let words = JournalBytes(bytes: bytes)
        guard bytes.count >= JournalLayout.headByteCount else { throw .damaged(.size) }
        guard words.uint64(at: JournalLayout.Head.magic) == JournalLayout.magic else { throw .damaged(.head) }
        let version = words.uint32(at: JournalLayout.Head.version)
        guard version == JournalLayout.version else { throw .otherVersion(version) }
        let layout = JournalLayout(
            slotCount: Int(words.uint32(at: JournalLayout.Head.slotCount)),
            deviceCount: Int(words.uint32(at: JournalLayout.Head.deviceCount)))
        let written = words.uuid(at: JournalLayout.Head.id)
        let writtenBootID = words.uuid(at: JournalLayout.Head.bootID)
        guard
            words.uint64(at: JournalLayout.Head.checksum) == layout.headChecksum(id: written, bootID: writtenBootID)
        else { throw .damaged(.head) }
        guard writtenBootID == bootID else { throw .otherBoot }
        guard written == id else { throw .damaged(.name) }
        guard layout.slotCount <= JournalLayout.slotLimit, layout.deviceCount <= JournalLayout.deviceLimit,
            bytes.count == layout.byteCount
        else { throw .damaged(.size) }
        var pages: [JournaledChunk] = []
        var isComplete = words.uint32(at: JournalLayout.Head.hasGaps) == 0
        for slot in 0..<layout.slotCount {
            switch words.page(inSlot: slot, of: layout) {
            case .free: break
            case .page(let page): pages.append(page)
            case .damaged: isComplete = false
            }
        }
        self.init(pages: pages, isComplete: isComplete)
    }
}

/// What a slot turned out to hold.
private enum SlotContents {
    case free
    case page(JournaledChunk)
    case damaged
}

/// Numbers in the bytes of a file; who asks has checked that they are within.
private struct JournalBytes {
    let bytes: [UInt8]

    func page(inSlot slot: Int, of layout: JournalLayout) -> SlotContents {
        let head = layout.slot(slot)
        let state = uint32(at: head + JournalLayout.Slot.state)
        guard state != 0 else { return .free }
        let count = Int(uint32(at: head + JournalLayout.Slot.deviceCount))
        guard state == 1, count <= layout.deviceCount else { return .damaged }
        let chunk = ChunkID(
            notification: NotificationID(rawValue: Int64(bitPattern: uint64(at: head + JournalLayout.Slot.notification))),
            number: Int32(bitPattern: uint32(at: head + JournalLayout.Slot.number)),
            epoch: Int32(bitPattern: uint32(at: head + JournalLayout.Slot.epoch)))
        let devices = (0..<count).map { Int64(bitPattern: uint64(at: layout.devices(ofSlot: slot) + 8 * $0)) }
        guard uint64(at: head + JournalLayout.Slot.checksum) == JournalLayout.slotChecksum(of: chunk, devices: devices) else {
            return .damaged
        }
        let attempts = (0..<count).map { int16(at: layout.attempts(ofSlot: slot) + 2 * $0) }
        let outcomes = (0..<count).compactMap { PushMark(rawValue: int16(at: layout.marks(ofSlot: slot) + 2 * $0)).outcome }
        guard outcomes.count == count, attempts.allSatisfy({ $0 >= 0 }) else { return .damaged }
        return .page(JournaledChunk(id: chunk, devices: devices, attempts: attempts, outcomes: outcomes))
    }

    func uint64(at offset: Int) -> UInt64 { UInt64(uint32(at: offset)) | UInt64(uint32(at: offset + 4)) << 32 }

    func uint32(at offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) }
    }

    func int16(at offset: Int) -> Int16 { Int16(bitPattern: UInt16(bytes[offset]) | UInt16(bytes[offset + 1]) << 8) }

    func uuid(at offset: Int) -> UUID { UUID(high: uint64(at: offset), low: uint64(at: offset + 8)) }
}
