import Glibc

/// A file of fixed size in memory, shared with the system: what is stored there outlives the process, however it ends.
///
/// Every offset is checked by `JournalLayout`, not here. The lock on the file is given back with it.
@safe final class MappedFile {
    private let memory: UnsafeMutableRawPointer
    private let byteCount: Int
    private let descriptor: Int32

    /// Makes room for so many bytes on the disk, so that no store can fail later, and maps them. They are zero.
    ///
    /// Takes the descriptor over when it succeeds.
    init(descriptor: Int32, byteCount: Int) throws(JournalFailure) {
        let code = posix_fallocate(descriptor, 0, byteCount)
        guard code == 0 else { throw JournalFailure(operation: "posix_fallocate", code: code) }
        let mapped = unsafe mmap(
            nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED | Int32(MAP_POPULATE), descriptor, 0)
        guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else { throw .last("mmap") }
        unsafe memory = mapped
        self.byteCount = byteCount
        self.descriptor = descriptor
    }

    deinit {
        unsafe munmap(memory, byteCount)
        // Closing alone leaves the lock with a child process that was spawned and does not run its program yet.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    func store(_ value: UInt64, at offset: Int) {
        unsafe memory.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt64.self)
    }
    func store(_ value: UInt32, at offset: Int) {
        unsafe memory.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt32.self)
    }
    func store(_ value: Int16, at offset: Int) {
        unsafe memory.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Int16.self)
    }
    func clear(_ range: Range<Int>) { unsafe memset(memory + range.lowerBound, 0, range.count) }
}
