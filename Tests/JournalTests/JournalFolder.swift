import Foundation
import Gateway
import Glibc
import Observability
import Testing

@testable import Journal

/// A directory for the journals of one test, in a folder of its own.
struct JournalFolder {
    static let bootID = UUID(high: 0xB007, low: 1)

    let parent: URL
    var path: String { parent.appendingPathComponent("journal").path }

    static func with(_ body: (JournalFolder) async throws -> Void) async throws {
        let parent = FileManager.default.temporaryDirectory
            .appendingPathComponent("openpushd-journal-\(Foundation.UUID().uuidString)")
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: parent) }
        try await body(JournalFolder(parent: parent))
    }

    static func directory(_ path: String, bootID: Gateway.UUID = bootID, slotCount: Int = 3, deviceCount: Int = 10)
        -> JournalDirectory
    {
        JournalDirectory(path: path, slotCount: slotCount, deviceCount: deviceCount, bootID: bootID, logger: .silent)
    }

    var directory: JournalDirectory { Self.directory(path) }

    func begin(_ location: SourceLocation = #_sourceLocation) throws -> any WorkerJournal {
        try #require(directory.begin(), sourceLocation: location)
    }

    /// What the one abandoned journal says.
    func read(bootID: Gateway.UUID = bootID, _ location: SourceLocation = #_sourceLocation) throws -> JournalContents {
        let found = Self.directory(path, bootID: bootID).abandoned()
        try #require(found.count == 1, sourceLocation: location)
        return try found[0].read()
    }

    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    func file(_ id: Gateway.UUID) -> String { "\(path)/\(id).journal" }

    /// A second one for each descriptor that this process has of a journal, as a child process gets when it is spawned.
    func duplicatedDescriptors(of id: Gateway.UUID) throws -> [Int32] {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { name in
            let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
            return path == file(id) ? Int32(name) : nil
        }
        return descriptors.map { dup($0) }
    }

    static func chunk(_ number: Int32) -> ChunkID {
        ChunkID(notification: NotificationID(rawValue: 7_000_000_000_000), number: number, epoch: 2)
    }
}
