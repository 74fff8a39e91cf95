import Gateway
import Testing

@testable import API

@Suite("Date text") struct DateTextTests {
    @Test(
        "is RFC 3339 in UTC",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"), (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (4_102_444_800_000, "2100-01-01T00:00:00.000Z"), (4_107_542_400_001, "2100-03-01T00:00:00.001Z"),
            (1_798_761_599_000, "2026-12-31T23:59:59.000Z"),
        ] as [(Int64, String)])
    func text(milliseconds: Int64, expected: String) {
        #expect(UnixMilliseconds(rawValue: milliseconds).dateText == expected)
    }
}
