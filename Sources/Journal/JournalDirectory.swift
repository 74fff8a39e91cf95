package import Gateway
import Glibc
package import Observability

/// The journals of this host's workers: one file each in a directory that is ours alone, named by `worker.journal`.
///
/// The process that lives holds a lock (flock) on its file; the system lets go of it when the process ends, however it does.
/// Daemons of several databases may share a directory.
package struct JournalDirectory: PushJournals {
    /// Most files one look takes notice of; far more than daemons of one host have loops.
    static let fileLimit = 1_024
    /// A file that nobody holds or claims is deleted when it was not written for this long: 30 days, in seconds.
    static let forgottenSeconds = 30 * 24 * 3_600

    private let path: String
    private let layout: JournalLayout
    private let bootID: UUID
    private let logger: Logger

    /// - Parameters:
    ///   - path: absolute; made when it is missing, its parent must exist.
    ///   - slotCount: chunks a worker can have open at once.
    ///   - deviceCount: devices of a chunk.
    ///   - bootID: tells one run of the machine from the next.
    package init(path: String, slotCount: Int, deviceCount: Int, bootID: UUID, logger: Logger) {
        self.path = path
        layout = JournalLayout(slotCount: slotCount, deviceCount: deviceCount)
        self.bootID = bootID
        self.logger = logger
    }

    package func begin() -> (any WorkerJournal)? {
        do throws(JournalFailure) {
            return try JournalNames(path: path).make(id: .random(), bootID: bootID, layout: layout)
        } catch {
            logger.log(
                .warning, "No journal can be written: a crash leaves whole chunks of a start unknown",
                [.file: path, .reason: error.description])
            return nil
        }
    }

    package func abandoned() -> [any AbandonedJournal] {
        do throws(JournalFailure) {
            return try JournalNames(path: path).unheld(limit: Self.fileLimit, bootID: bootID)
        } catch {
            // Whoever begins a journal is told; here it is asked for every second.
            logger.log(.debug, "The journals cannot be listed", [.file: path, .reason: error.description])
            return []
        }
    }

    /// The running system's boot id; nil when the system does not tell.
    package static func currentBootID() -> UUID? {
        let descriptor = unsafe open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var text = [UInt8](repeating: 0, count: 64)
        let count = unsafe read(descriptor, &text, text.count)
        guard count > 0 else { return nil }
        return UUID(String(decoding: text[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}
