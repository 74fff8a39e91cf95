/// How many cores a process has of those that a machine has.
enum CoreShare {
    /// The least of what is online, what the process may run on and what its time is enough for, rounded up; at least 1.
    ///
    /// - Parameters:
    ///   - status: `/proc/self/status`, whose `Cpus_allowed_list` names cores as in `0-3,8`.
    ///   - quota: microseconds of a core's time and the period they are for, as in `cpu.max` of a control group: `150000 100000`; `max`
    ///     (`-1` in version 1 of control groups) is no limit.
    static func coreCount(online: Int, status: String?, quota: String?) -> Int {
        max(1, min(online, status.flatMap(allowed) ?? online, quota.flatMap(affordable) ?? online))
    }

    private static func allowed(_ status: String) -> Int? {
        let prefix = "Cpus_allowed_list:"
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix(prefix) }) else { return nil }
        var count = 0
        for range in line.dropFirst(prefix.count).split(separator: ",") {
            let bounds = range.split(separator: "-").map { Int($0.filter { !$0.isWhitespace }) }
            guard let first = bounds.first ?? nil, let last = bounds.last ?? nil, first <= last else { return nil }
            count += last - first + 1
        }
        return count > 0 ? count : nil
    }

    private static func affordable(_ quota: String) -> Int? {
        let words = quota.split(whereSeparator: \.isWhitespace).map { Int($0) }
        guard words.count == 2, let time = words[0], let period = words[1], time > 0, period > 0 else { return nil }
        return (time - 1) / period + 1
    }
}
