import Testing

@testable import Configuration

@Suite("Cores a process may use")
struct CoreShareTests {
    @Test(
        "are those it may run on, as far as its time is enough for them",
        arguments: [
            (nil, nil, 16), ("0-15", "max 100000", 16), ("0", nil, 1), ("0-1,4,8-9", nil, 5), ("0-31", nil, 16),
            ("0-15", "150000 100000", 2), ("0-15", "100000 100000", 1), ("0-15", "1000 100000", 1), ("0-15", "-1\n 100000\n", 16),
            ("3", "400000 100000", 1), ("x", "y", 16), ("", "", 16), ("0-15", "9223372036854775807 1", 16),
        ] as [(String?, String?, Int)])
    func counts(list: String?, quota: String?, expected: Int) {
        let status = list.map { "Name:\topenpushd\nCpus_allowed:\tffff\nCpus_allowed_list:\t\($0)\nMems_allowed:\t1\n" }
        #expect(CoreShare.coreCount(online: 16, status: status, quota: quota) == expected)
    }
}
