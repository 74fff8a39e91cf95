import Glibc
import Security

/// What the system tells of another process. Source: proc(5).
enum ProcessFigures {
    /// A process that has ended, or is none.
    struct Gone: Error, CustomStringConvertible {
        let process: Int32
        var description: String { "process \(process) ended while it was measured" }
    }

    /// User and system time, in seconds, in steps of 10 ms on most systems.
    ///
    /// - Parameter withEndedChildren: counts what its children used that have ended.
    static func cpuSeconds(of process: Int32, withEndedChildren: Bool = false) throws -> Double {
        let fields = try statistics(of: process)
        // utime, stime, cutime and cstime are the fields 14 to 17 of the file; the list begins with field 3.
        let ticks = fields[11...(withEndedChildren ? 14 : 12)].compactMap { Double($0) }.reduce(0, +)
        return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The same of a process and all its children, which do not have any of their own.
    static func cpuSecondsOfFamily(_ parent: Int32) throws -> Double {
        var seconds = try cpuSeconds(of: parent, withEndedChildren: true)
        // A child that ends meanwhile is among the parent's ended children the next time.
        for child in try children(of: parent) { seconds += (try? cpuSeconds(of: child)) ?? 0 }
        return seconds
    }

    /// Largest resident size since the process began, in bytes.
    static func peakByteCount(of process: Int32) throws -> Int {
        guard let text = SystemFile.read("/proc/\(process)/status"),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
            let kibibytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { throw Gone(process: process) }
        return kibibytes * 1_024
    }

    private static func children(of parent: Int32) throws -> [Int32] {
        guard let text = SystemFile.read("/proc/\(parent)/task/\(parent)/children") else { throw Gone(process: parent) }
        return text.split(separator: " ").compactMap { Int32($0) }
    }

    /// The fields of stat behind the name, which may hold anything.
    private static func statistics(of process: Int32) throws -> [Substring] {
        guard let text = SystemFile.read("/proc/\(process)/stat"), let end = text.lastIndex(of: ")") else {
            throw Gone(process: process)
        }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 14 else { throw Gone(process: process) }
        return fields
    }
}

/// Small text files.
enum SystemFile {
    /// The whole text; nil when there is no such file.
    static func read(_ path: String) -> String? {
        (try? CredentialFile.read(path: path)).map { String(decoding: $0, as: UTF8.self) }
    }

    // The path is lent for the time of the call.
    static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    // As above.
    static func isExecutable(_ path: String) -> Bool { unsafe access(path, X_OK) == 0 }

    /// The same place as a path from the root; nil when it does not exist.
    static func absolutePath(_ path: String) -> String? {
        // It allocates what it returns.
        guard let resolved = unsafe realpath(path, nil) else { return nil }
        // Not used after this.
        defer { unsafe free(resolved) }
        // It ends with a zero.
        return unsafe String(cString: resolved)
    }

    /// Writes a file that only its owner can read.
    static func write(_ bytes: [UInt8], to path: String) throws {
        // As above.
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Unwritable(path: path) }
        defer { close(descriptor) }
        // The buffer is alive during the call.
        guard unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw Unwritable(path: path) }
    }

    struct Unwritable: Error, CustomStringConvertible {
        let path: String
        var description: String { "\(path) cannot be written" }
    }
}
