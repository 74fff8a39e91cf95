import Foundation
import Gateway
import Glibc
import Testing

@testable import Journal

@Suite("A worker's journal file", .timeLimit(.minutes(1))) struct JournalFileTests {
    @Test("of a killed process says which pushes were on the wire, which ended, and which never left")
    func outlivesProcess() async throws {
        try await JournalFolder.with { folder in
            let path = folder.path
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                let journal = try #require(JournalFolder.directory(path).begin())
                let first = try #require(
                    journal.openPage(of: JournalFolder.chunk(0), devices: [11, 12, 13, 14, 15], attempts: [0, 1, 2, 3, 4]))
                _ = try #require(journal.openPage(of: JournalFolder.chunk(1), devices: [21], attempts: []))
                let marks = PushMarks(page: first, first: 1)
                first.mark(0, .submitted)
                marks.submitted(0)
                marks.ended(0, .accepted)
                marks.submitted(1)
                marks.ended(1, .tokenDead(.unregistered, since: nil))
                marks.submitted(2)
                marks.putBack(2)
                kill(getpid(), SIGKILL)
            }
            let contents = try folder.read()
            #expect(contents.isComplete)
            #expect(contents.pages.map(\.id) == [JournalFolder.chunk(0), JournalFolder.chunk(1)])
            #expect(contents.pages[0].devices == [11, 12, 13, 14, 15])
            #expect(contents.pages[0].attempts == [0, 1, 2, 3, 4])
            #expect(
                contents.pages[0].outcomes == [.unknown, .accepted, .rejected(.unregistered), .notSent, .notSent])
            #expect(contents.pages[1].devices == [21] && contents.pages[1].outcomes == [.notSent])
        }
    }

    @Test("is found by nobody while its process lives, and by one at a time afterwards")
    func isHeld() async throws {
        try await JournalFolder.with { folder in
            do {
                let journal = try folder.begin()
                #expect(folder.names == ["\(journal.id).journal"])
                #expect(folder.directory.abandoned().isEmpty)
                // Looking did not let go of it.
                #expect(folder.directory.abandoned().isEmpty)
                withExtendedLifetime(journal) {}
            }
            do {
                let found = folder.directory.abandoned()
                #expect(found.count == 1)
                #expect(folder.directory.abandoned().isEmpty)
                withExtendedLifetime(found) {}
            }
            #expect(folder.directory.abandoned().count == 1)
        }
    }

    @Test("is free once it is closed, also when a child process still has its descriptor")
    func unlocks() async throws {
        try await JournalFolder.with { folder in
            var held: [Int32] = []
            defer { for descriptor in held { close(descriptor) } }
            do {
                let journal = try folder.begin()
                held += try folder.duplicatedDescriptors(of: journal.id)
                #expect(held.count == 1)
                withExtendedLifetime(journal) {}
            }
            do {
                let found = folder.directory.abandoned()
                #expect(found.count == 1)
                held += try folder.duplicatedDescriptors(of: found[0].id)
                #expect(held.count == 3)
                withExtendedLifetime(found) {}
            }
            #expect(folder.directory.abandoned().count == 1)
        }
    }

    @Test("outlives its worker for as long as a page is open")
    func isHeldByPages() async throws {
        try await JournalFolder.with { folder in
            var journal: (any WorkerJournal)? = try folder.begin()
            let page = try #require(journal?.openPage(of: JournalFolder.chunk(0), devices: [1], attempts: []))
            journal = nil
            #expect(folder.directory.abandoned().isEmpty)
            page.mark(0, .submitted)
        }
    }

    @Test("says nothing of a chunk that was closed, and nothing old of the one that took its place")
    func reusesSlots() async throws {
        try await JournalFolder.with { folder in
            do {
                let journal = try folder.begin()
                for number in 0..<20 as Range<Int32> {
                    let page = try #require(
                        journal.openPage(of: JournalFolder.chunk(number), devices: [1, 2, 3], attempts: [9, 9, 9]))
                    for index in 0..<3 { page.mark(index, .submitted) }
                    page.close()
                    page.close()
                }
                _ = journal.openPage(of: JournalFolder.chunk(20), devices: [4, 5], attempts: [])
            }
            let contents = try folder.read()
            #expect(contents.isComplete && contents.pages.count == 1)
            #expect(contents.pages[0].id == JournalFolder.chunk(20) && contents.pages[0].devices == [4, 5])
            #expect(contents.pages[0].attempts == [0, 0] && contents.pages[0].outcomes == [.notSent, .notSent])
        }
    }

    @Test("admits for good that a chunk had no page, because it was too large or all were taken", arguments: [true, false])
    func admitsGaps(isTooLarge: Bool) async throws {
        try await JournalFolder.with { folder in
            do {
                let journal = try folder.begin()
                var pages: [any JournalPage] = []
                if isTooLarge {
                    #expect(journal.openPage(of: JournalFolder.chunk(9), devices: Array(1...11), attempts: []) == nil)
                } else {
                    for number in 0..<3 as Range<Int32> {
                        pages.append(try #require(journal.openPage(of: JournalFolder.chunk(number), devices: [1], attempts: [])))
                    }
                    #expect(journal.openPage(of: JournalFolder.chunk(9), devices: [1], attempts: []) == nil)
                    for page in pages { page.close() }
                }
                pages.append(try #require(journal.openPage(of: JournalFolder.chunk(4), devices: Array(1...10), attempts: [])))
            }
            let contents = try folder.read()
            #expect(!contents.isComplete && contents.pages.map(\.id) == [JournalFolder.chunk(4)])
        }
    }

    @Test("is not begun where the disk has no room for it, rather than killing the process later; nothing is left behind")
    func reservesItsRoom() async throws {
        try await JournalFolder.with { folder in
            let path = folder.path
            await #expect(processExitsWith: .success) { [path = path as String] in
                signal(SIGXFSZ, SIG_IGN)
                var limit = rlimit(rlim_cur: 2_048, rlim_max: 2_048)
                try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
                #expect(JournalFolder.directory(path).begin() == nil)
            }
            #expect(folder.names.isEmpty)
        }
    }

    @Test("is gone when the worker removes it")
    func isRemoved() async throws {
        try await JournalFolder.with { folder in
            let journal = try folder.begin()
            journal.remove()
            #expect(folder.names.isEmpty)
            // Nobody reads it any more, and writing to it harms nobody.
            try #require(journal.openPage(of: JournalFolder.chunk(0), devices: [1], attempts: [])).mark(0, .submitted)
        }
    }
}
