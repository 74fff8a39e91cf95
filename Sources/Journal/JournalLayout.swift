import Gateway

/// Where everything is in a journal file. Numbers are little-endian.
///
/// First a head, then slots of equal size, one for each chunk that can be open. A slot has its own head, then the ids of its
/// devices (8 bytes each), how often each was tried (2 bytes each), and its marks (2 bytes each).
struct JournalLayout: Hashable {
    /// "OPJRNL" and two zeros.
    static let magic: UInt64 = 0x0000_4C4E_524A_504F
    /// Rises when the layout changes; a journal of another version is not believed.
    static let version: UInt32 = 1
    /// The head of the file; a page of memory, so that slots begin on one.
    static let headByteCount = 4_096
    /// The head of a slot.
    static let slotHeadByteCount = 64
    /// Most slots, and most devices of a slot, that a reader believes.
    static let slotLimit = 1_024
    static let deviceLimit = 100_000

    /// Fields of the file's head, in bytes from its beginning.
    enum Head {
        static let magic = 0
        static let version = 8
        static let slotCount = 12
        static let deviceCount = 16
        /// 1 once a chunk was sent without a page.
        static let hasGaps = 20
        static let id = 24
        static let bootID = 40
        /// Over the fields before it, but for `hasGaps`.
        static let checksum = 56
    }

    /// Fields of a slot's head, in bytes from its beginning.
    enum Slot {
        /// 0 free, 1 a page.
        static let state = 0
        static let deviceCount = 4
        static let notification = 8
        static let number = 16
        static let epoch = 20
        /// Over the fields above and the devices.
        static let checksum = 24
    }

    /// Chunks that can be open at once.
    let slotCount: Int
    /// Devices of a chunk.
    let deviceCount: Int

    /// Bytes from one slot to the next.
    var slotByteCount: Int { (Self.slotHeadByteCount + 12 * deviceCount + 63) / 64 * 64 }
    /// Bytes of the file.
    var byteCount: Int { Self.headByteCount + slotCount * slotByteCount }

    /// Where a slot begins.
    func slot(_ index: Int) -> Int { Self.headByteCount + index * slotByteCount }
    /// Where the parts of a slot begin, in bytes from the beginning of the file.
    func devices(ofSlot index: Int) -> Int { slot(index) + Self.slotHeadByteCount }
    func attempts(ofSlot index: Int) -> Int { devices(ofSlot: index) + 8 * deviceCount }
    func marks(ofSlot index: Int) -> Int { attempts(ofSlot: index) + 2 * deviceCount }

    func headChecksum(id: UUID, bootID: UUID) -> UInt64 {
        var checksum = JournalChecksum()
        checksum.add(Self.magic)
        checksum.add(UInt64(Self.version))
        checksum.add(UInt64(slotCount))
        checksum.add(UInt64(deviceCount))
        for half in [id.high, id.low, bootID.high, bootID.low] { checksum.add(half) }
        return checksum.value
    }

    static func slotChecksum(of chunk: ChunkID, devices: [Int64]) -> UInt64 {
        var checksum = JournalChecksum()
        checksum.add(UInt64(devices.count))
        checksum.add(UInt64(bitPattern: chunk.notification.rawValue))
        checksum.add(UInt64(UInt32(bitPattern: chunk.number)))
        checksum.add(UInt64(UInt32(bitPattern: chunk.epoch)))
        for device in devices { checksum.add(UInt64(bitPattern: device)) }
        return checksum.value
    }
}

/// FNV-1a over words of 64 bits: finds damage, not forgery.
struct JournalChecksum {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ word: UInt64) { value = (value ^ word) &* 0x100_0000_01B3 }
}
