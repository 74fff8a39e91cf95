import Configuration
import JSON

/// What the figures depend on beside the program.
struct Machine {
    private let processor: String?
    private let kernel: String?
    private let memoryByteCount: Int?
    /// Processes that ran or waited for a core, in the minute before.
    private let load: String?

    /// Looks now: before the machine is made busy.
    init() {
        processor = Self.value(of: "model name", in: "/proc/cpuinfo")
        kernel = SystemFile.read("/proc/sys/kernel/osrelease")?.split(separator: "\n").first.map(String.init)
        memoryByteCount = Self.value(of: "MemTotal", in: "/proc/meminfo")?.split(separator: " ").first.flatMap { Int($0) }
            .map { $0 * 1_024 }
        load = SystemFile.read("/proc/loadavg")?.split(separator: " ").first.map(String.init)
    }

    private static func value(of name: String, in path: String) -> String? {
        guard let text = SystemFile.read(path), let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
            let colon = line.firstIndex(of: ":")
        else { return nil }
        return String(line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
    }

    /// How this program was compiled.
    static var build: String {
        #if DEBUG
            "debug"
        #else
            "release"
        #endif
    }

    func write(to writer: inout JSONWriter) {
        writer.key("machine")
        writer.beginObject()
        writer.member("processor", processor)
        writer.member("cores", ProcessEnvironment.coreCount)
        writer.member("memory_bytes", memoryByteCount)
        writer.member("kernel", kernel)
        writer.member("load_before", load)
        writer.endObject()
    }
}
