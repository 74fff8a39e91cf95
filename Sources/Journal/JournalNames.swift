import Gateway
import Glibc

/// An open directory of journals, checked to be ours; what happens in it goes by its descriptor, so that no path can be swapped.
final class JournalNames: Sendable {
    private static let ending = ".journal"
    /// A file that is being made: it gets its name once it is locked and whole.
    private static let unfinishedEnding = ".new"

    private let descriptor: Int32

    /// Opens the directory, and makes it when it is missing.
    init(path: String) throws(JournalFailure) {
        if unsafe mkdir(path, 0o700) != 0, errno != EEXIST { throw .last("mkdir") }
        descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .last("open") }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .last("fstat") }
        guard status.st_uid == geteuid() else { throw JournalFailure("the directory belongs to another user") }
        guard status.st_mode & 0o022 == 0 else { throw JournalFailure("others may write to the directory") }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Makes the file of a worker, locked by this process from before it has its name.
    func make(id: UUID, bootID: UUID, layout: JournalLayout) throws(JournalFailure) -> JournalFile {
        let unfinished = id.description + Self.unfinishedEnding
        let name = id.description + Self.ending
        let file = unsafe openat(descriptor, unfinished, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .last("openat") }
        let mapped: MappedFile
        do throws(JournalFailure) {
            guard flock(file, LOCK_EX | LOCK_NB) == 0 else { throw .last("flock") }
            mapped = try MappedFile(descriptor: file, byteCount: layout.byteCount)
        } catch {
            close(file)
            unlink(unfinished)
            throw error
        }
        let journal = JournalFile(id: id, bootID: bootID, layout: layout, file: mapped) { [self] in unlink(name) }
        guard unsafe renameat(descriptor, unfinished, descriptor, name) == 0 else {
            let failure = JournalFailure.last("renameat")
            unlink(unfinished)
            throw failure
        }
        return journal
    }

    /// The whole files that no process holds, each locked by this one for as long as its object lives.
    func unheld(limit: Int, bootID: UUID) throws(JournalFailure) -> [AbandonedFile] {
        var found: [AbandonedFile] = []
        for name in try names(limit: limit) {
            if name.hasSuffix(Self.ending), let id = UUID(name.dropLast(Self.ending.count)) {
                if let file = lock(name) {
                    found.append(AbandonedFile(id: id, name: name, descriptor: file, names: self, bootID: bootID))
                }
            } else if name.hasSuffix(Self.unfinishedEnding), UUID(name.dropLast(Self.unfinishedEnding.count)) != nil {
                removeIfForgotten(name)
            }
        }
        return found
    }

    func unlink(_ name: String) { _ = unsafe unlinkat(descriptor, name, 0) }

    /// Deletes a file that was not written for `JournalDirectory.forgottenSeconds`.
    func removeIfForgotten(_ name: String) {
        var status = stat()
        guard unsafe fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return }
        if time(nil) - status.st_mtim.tv_sec >= JournalDirectory.forgottenSeconds { unlink(name) }
    }

    /// Opens and locks a file; nil when a process holds it, when it is not ours, and when it was deleted meanwhile.
    private func lock(_ name: String) -> Int32? {
        // Without waiting, in case it is a pipe that somebody put there.
        let file = unsafe openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return nil }
        var status = stat()
        guard flock(file, LOCK_EX | LOCK_NB) == 0, unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid(), status.st_nlink == 1
        else {
            close(file)
            return nil
        }
        return file
    }

    private func names(limit: Int) throws(JournalFailure) -> [String] {
        // `closedir` closes it.
        let listed = unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard listed >= 0 else { throw .last("openat") }
        guard let stream = unsafe fdopendir(listed) else {
            let failure = JournalFailure.last("fdopendir")
            close(listed)
            throw failure
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while names.count < limit, let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(Self.ending) || name.hasSuffix(Self.unfinishedEnding) { names.append(name) }
        }
        return names
    }
}

/// The journal of a worker whose process is dead; this process holds its lock.
final class AbandonedFile: AbandonedJournal {
    /// Most bytes that are read; no journal is larger than 64 MiB.
    static let byteLimit = 64 << 20

    let id: UUID
    private let name: String
    private let descriptor: Int32
    private let names: JournalNames
    private let bootID: UUID

    /// Takes the locked descriptor over.
    init(id: UUID, name: String, descriptor: Int32, names: JournalNames, bootID: UUID) {
        self.id = id
        self.name = name
        self.descriptor = descriptor
        self.names = names
        self.bootID = bootID
    }

    deinit {
        // As for a `MappedFile`: a child process may have the descriptor too.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    // Read, not mapped: a file that is cut short meanwhile then is only short.
    func read() throws(JournalDistrust) -> JournalContents {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .unreadable(JournalFailure.last("fstat").description) }
        guard status.st_size <= Self.byteLimit else { throw .damaged(.size) }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var filled = 0
        while filled < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe pread(descriptor, buffer.baseAddress.map { unsafe $0 + filled }, buffer.count - filled, filled)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadable(JournalFailure.last("pread").description) }
            guard count > 0 else { throw .damaged(.size) }
            filled += count
        }
        return try JournalContents(bytes: bytes, id: id, bootID: bootID)
    }

    func remove() { names.unlink(name) }

    func removeIfForgotten() { names.removeIfForgotten(name) }
}
