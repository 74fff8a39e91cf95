import Foundation
import Gateway
import Glibc
import Testing

@testable import Journal

@Suite("A journal that cannot be believed", .timeLimit(.minutes(1))) struct JournalDistrustTests {
    /// The bytes of a journal with two pages, and its id.
    private static func written(in folder: JournalFolder) throws -> (id: Gateway.UUID, bytes: [UInt8]) {
        let id: Gateway.UUID
        do {
            let journal = try folder.begin()
            id = journal.id
            for number in 0..<2 as Range<Int32> {
                let page = try #require(
                    journal.openPage(of: JournalFolder.chunk(number), devices: [1, 2, 3], attempts: [1, 2, 3]))
                page.mark(0, .submitted)
                page.mark(1, PushMark(.accepted))
            }
        }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file(id)))
        return (id, Array(bytes))
    }

    @Test("was written before the machine was restarted")
    func otherBoot() async throws {
        try await JournalFolder.with { folder in
            _ = try Self.written(in: folder)
            #expect(throws: JournalDistrust.otherBoot) { try folder.read(bootID: UUID(high: 0xB007, low: 2)) }
            #expect(try folder.read().pages.count == 2)
        }
    }

    @Test("has another worker's name, as a copy has")
    func otherName() async throws {
        try await JournalFolder.with { folder in
            let (id, _) = try Self.written(in: folder)
            try FileManager.default.moveItem(atPath: folder.file(id), toPath: folder.file(.random()))
            #expect(throws: JournalDistrust.damaged(.name)) { try folder.read() }
        }
    }

    @Test("is of another version")
    func otherVersion() async throws {
        try await JournalFolder.with { folder in
            var (id, bytes) = try Self.written(in: folder)
            bytes[JournalLayout.Head.version] = 9
            try Data(bytes).write(to: URL(fileURLWithPath: folder.file(id)))
            #expect(throws: JournalDistrust.otherVersion(9)) { try folder.read() }
        }
    }

    @Test("is empty, cut short or too long", arguments: [0, 8, 4_095, 4_096, -1, 1])
    func otherSize(byteCount: Int) async throws {
        try await JournalFolder.with { folder in
            let (id, bytes) = try Self.written(in: folder)
            let size = byteCount == -1 || byteCount == 1 ? bytes.count + byteCount : byteCount
            #expect(unsafe truncate(folder.file(id), size) == 0)
            #expect(throws: JournalDistrust.damaged(.size)) { try folder.read() }
        }
    }

    @Test("has a damaged page: the other one still counts, and no chunk counts as never sent", arguments: [0, 4, 8, 24, 64, 100])
    func damagedPage(offset: Int) async throws {
        try await JournalFolder.with { folder in
            let (id, bytes) = try Self.written(in: folder)
            var damaged = bytes
            let slot = JournalLayout(slotCount: 3, deviceCount: 10).slot(0)
            // At 100 lie devices without a page's count; the first mark is broken there instead.
            let target = offset == 100 ? JournalLayout(slotCount: 3, deviceCount: 10).marks(ofSlot: 0) : slot + offset
            damaged[target] = offset == 100 ? 0x77 : damaged[target] ^ 0x42
            if offset == 100 { damaged[target + 1] = 0x80 }
            let contents = try JournalContents(bytes: damaged, id: id, bootID: JournalFolder.bootID)
            #expect(!contents.isComplete)
            #expect(contents.pages.map(\.id) == [JournalFolder.chunk(1)])
        }
    }

    @Test("never stops the reader, whatever bytes it holds, and never makes up a chunk")
    func survivesNoise() async throws {
        try await JournalFolder.with { folder in
            let (id, bytes) = try Self.written(in: folder)
            let chunks: Set<ChunkID> = [JournalFolder.chunk(0), JournalFolder.chunk(1)]
            var generator = SeededGenerator(state: 42)
            var believedCount = 0
            for _ in 0..<4_000 {
                var noisy = bytes
                for _ in 0..<Int.random(in: 1...8, using: &generator) {
                    let isHead = Bool.random(using: &generator)
                    let position = Int.random(in: 0..<(isHead ? 64 : noisy.count), using: &generator)
                    noisy[position] = UInt8.random(in: 0...255, using: &generator)
                }
                if Bool.random(using: &generator) {
                    noisy.removeLast(Int.random(in: 0...noisy.count, using: &generator))
                }
                guard let contents = try? JournalContents(bytes: noisy, id: id, bootID: JournalFolder.bootID) else { continue }
                believedCount += 1
                #expect(Set(contents.pages.map(\.id)).isSubset(of: chunks))
                #expect(contents.pages.allSatisfy { $0.devices == [1, 2, 3] })
            }
            // The noise did not stop everything at the head.
            #expect(believedCount > 100)
        }
    }
}

/// Numbers that are the same in every run (SplitMix64).
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
