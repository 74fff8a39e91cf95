import Glibc
import Security

/// What the process was given by the system.
package enum ProcessEnvironment {
    /// Cores this process may use; at least 1.
    package static var coreCount: Int {
        func read(_ path: String) -> String? {
            (try? CredentialFile.read(path: path)).map { String(decoding: $0, as: UTF8.self) }
        }
        let quota =
            read("/sys/fs/cgroup/cpu.max")
            ?? read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").flatMap { quota in
                read("/sys/fs/cgroup/cpu/cpu.cfs_period_us").map { "\(quota) \($0)" }
            }
        return CoreShare.coreCount(
            online: sysconf(Int32(_SC_NPROCESSORS_ONLN)), status: read("/proc/self/status"), quota: quota)
    }

    /// Whose rights this process has.
    package static var userID: UInt32 { geteuid() }

    /// The machine's name; `unknown` when it has none.
    package static var hostName: String {
        var bytes = [CChar](repeating: 0, count: 256)
        // The buffer is longer than any host name, and its last byte stays 0.
        guard unsafe gethostname(&bytes, bytes.count - 1) == 0 else { return "unknown" }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The environment's variables.
    package static func variables() -> [String: String] {
        var variables: [String: String] = [:]
        // `environ` is set before main and this program never changes it.
        var entry = unsafe environ
        // The list ends with a null pointer.
        while let text = unsafe entry.pointee {
            // An entry is a C string that lives as long as the process.
            let pair = unsafe String(cString: text)
            if let separator = pair.firstIndex(of: "=") {
                variables[String(pair[..<separator])] = String(pair[pair.index(after: separator)...])
            }
            // Still inside the list: the entry before was not its end.
            unsafe entry += 1
        }
        return variables
    }
}
