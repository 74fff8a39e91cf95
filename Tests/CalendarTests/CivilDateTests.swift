import Testing

@testable import Calendar

@Suite("Civil date") struct CivilDateTests {
    @Test(
        "is the one people write",
        arguments: [
            (0, "1970-01-01"), (-1, "1969-12-31"), (59, "1970-03-01"), (11_016, "2000-02-29"), (11_017, "2000-03-01"),
            (47_540, "2100-02-28"), (47_541, "2100-03-01"), (20_512, "2026-02-28"), (-719_528, "0000-01-01"),
            (2_932_896, "9999-12-31"),
        ] as [(Int64, String)])
    func text(day: Int64, text: String) throws {
        #expect("\(CivilDate(daysSince1970: day))" == text)
        let parts = text.split(separator: "-").compactMap { Int64($0) }
        let date = try #require(CivilDate(year: parts[0], month: parts[1], day: parts[2]))
        #expect(date.daysSince1970 == day)
    }

    @Test("follows the day before, and comes back from its number, over 800 years")
    func counts() throws {
        var before = CivilDate(daysSince1970: -146_098)
        for day in Int64(-146_097)...146_097 {
            let date = CivilDate(daysSince1970: day)
            let isNext =
                date.day == before.day + 1 && date.month == before.month
                || date.day == 1 && date.month == before.month % 12 + 1 && date.year == before.year + (date.month == 1 ? 1 : 0)
            try #require(isNext && date.daysSince1970 == day, "\(before), \(date)")
            before = date
        }
    }

    @Test(
        "is refused when there is no such day",
        arguments: [
            (2026, 2, 29), (2100, 2, 29), (2026, 4, 31), (2026, 13, 1), (2026, 0, 1), (2026, 1, 0), (-1, 1, 1), (10_000, 1, 1),
        ] as [(Int64, Int64, Int64)])
    func refuses(year: Int64, month: Int64, day: Int64) {
        #expect(CivilDate(year: year, month: month, day: day) == nil)
    }

    @Test("and a moment of it are written as RFC 3339")
    func moments() {
        #expect(MomentText.rfc3339(millisecondsSince1970: 1_772_323_199_007) == "2026-02-28T23:59:59.007Z")
        #expect(MomentText.rfc3339(millisecondsSince1970: -1) == "1969-12-31T23:59:59.999Z")
    }
}
