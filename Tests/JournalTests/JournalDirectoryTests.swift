import Foundation
import Gateway
import Glibc
import Observability
import Synchronization
import Testing

@testable import Journal

@Suite("The directory of journals", .timeLimit(.minutes(1))) struct JournalDirectoryTests {
    private static func mode(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test("is made for us alone, and so is each file")
    func isPrivate() async throws {
        try await JournalFolder.with { folder in
            let journal = try folder.begin()
            #expect(try Self.mode(folder.path) == 0o700)
            #expect(try Self.mode(folder.file(journal.id)) == 0o600)
        }
    }

    @Test("is made again when somebody removed it")
    func isMadeAgain() async throws {
        try await JournalFolder.with { folder in
            _ = try folder.begin()
            try FileManager.default.removeItem(atPath: folder.path)
            #expect(folder.directory.abandoned().isEmpty)
            _ = try folder.begin()
            #expect(folder.names.count == 1)
        }
    }

    /// Ways in which a directory is not to be used.
    enum Trouble: CaseIterable {
        case groupMayWrite, othersMayWrite, isLink, isFile, hasNoParent
    }

    @Test("is not used when it may not be ours alone; the worker is told why and does without", arguments: Trouble.allCases)
    func isRefused(trouble: Trouble) async throws {
        try await JournalFolder.with { folder in
            let files = FileManager.default
            var path = folder.path
            switch trouble {
            case .groupMayWrite, .othersMayWrite:
                #expect(unsafe mkdir(path, 0o700) == 0)
                #expect(unsafe chmod(path, trouble == .groupMayWrite ? 0o720 : 0o702) == 0)
            case .isLink:
                try files.createDirectory(atPath: path + "-real", withIntermediateDirectories: false)
                try files.createSymbolicLink(atPath: path, withDestinationPath: path + "-real")
            case .isFile: try Data().write(to: URL(fileURLWithPath: path))
            case .hasNoParent: path += "/a/b"
            }
            let lines = Mutex<[String]>([])
            let directory = JournalDirectory(
                path: path, slotCount: 1, deviceCount: 1, bootID: JournalFolder.bootID,
                logger: Logger(sink: { line in lines.withLock { $0.append(line) } }))
            #expect(directory.begin() == nil)
            #expect(directory.abandoned().isEmpty)
            let logged = lines.withLock { $0 }
            #expect(logged.count == 1 && logged[0].contains("No journal can be written") && logged[0].contains("reason="))
        }
    }

    @Test("is not used when it belongs to another user", .enabled(if: geteuid() == 0, "only root gives directories away"))
    func isRefusedFromOthers() async throws {
        try await JournalFolder.with { folder in
            _ = try folder.begin()
            #expect(unsafe chown(folder.path, 12_345, 12_345) == 0)
            #expect(folder.directory.begin() == nil && folder.directory.abandoned().isEmpty)
        }
    }

    @Test("may hold what is none of ours: it is neither read nor touched")
    func leavesForeignFiles() async throws {
        try await JournalFolder.with { folder in
            let journal = try folder.begin()
            let other = Gateway.UUID.random
            let target = folder.parent.appendingPathComponent("target").path
            try Data("precious".utf8).write(to: URL(fileURLWithPath: target))
            try FileManager.default.createSymbolicLink(atPath: folder.file(other()), withDestinationPath: target)
            #expect(unsafe mkfifo(folder.file(other()), 0o600) == 0)
            #expect(unsafe mkdir(folder.file(other()), 0o700) == 0)
            #expect(unsafe link(target, folder.file(other())) == 0)
            for name in ["README", "x.journal", "\(other()).journal.old"] {
                try Data().write(to: URL(fileURLWithPath: "\(folder.path)/\(name)"))
            }
            let names = folder.names
            #expect(folder.directory.abandoned().isEmpty)
            #expect(folder.names == names && names.contains("\(journal.id).journal"))
        }
    }

    @Test("loses a journal nobody can need only when it was not written for 30 days, and what was never finished likewise")
    func forgets() async throws {
        try await JournalFolder.with { folder in
            let id = try folder.begin().id
            let unfinished = "\(folder.path)/\(Gateway.UUID.random()).new"
            try Data().write(to: URL(fileURLWithPath: unfinished))
            func age(_ path: String, days: Int) throws {
                let then = timespec(tv_sec: time(nil) - days * 86_400, tv_nsec: 0)
                #expect(unsafe utimensat(AT_FDCWD, path, [then, then], 0) == 0)
            }
            for days in [29, 31] {
                try age(folder.file(id), days: days)
                try age(unfinished, days: days)
                let found = folder.directory.abandoned()
                #expect(found.count == 1)
                found.first?.removeIfForgotten()
                #expect(folder.names.count == (days == 29 ? 2 : 0))
            }
        }
    }

    @Test("knows one run of this machine from the next")
    func knowsBoot() throws {
        let text = try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        #expect(JournalDirectory.currentBootID()?.description == text.trimmingCharacters(in: .newlines))
    }
}
