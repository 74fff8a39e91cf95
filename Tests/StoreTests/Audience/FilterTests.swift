import Foundation
import Gateway
import JSON
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Filters", .enabled(if: TestDatabase.isAvailable)) struct FilterTests {
    /// The moment ages are counted to, seconds since 1970.
    static let moment: Int64 = 1_900_000_000

    @Test("find exactly the devices that match, for many random expressions")
    func findMatches() async throws {
        try await StoreFixture.with { fixture in
            var random = SeededGenerator(seed: 20_261_130)
            let devices = (1...200).map { FilterDevice(number: $0, random: &random) }
            for device in devices { try await fixture.addDevice(device.number) { device.fill(&$0) } }
            let type = Int32(try #require(try await fixture.number("select type_id from activity_type")))
            var numbers: [Int64: Int] = [:]
            for device in devices { numbers[try await fixture.deviceNumber(device.number)] = device.number }
            var matchCount = 0
            for _ in 0..<500 {
                let audience = FrozenAudience(
                    included: Self.branches(&random, allowsEverybody: true),
                    excluded: Bool.random(using: &random) ? Self.branches(&random, allowsEverybody: false) : [])
                #expect(FrozenAudience(json: audience.json) == audience)
                let found = try await Self.find(audience, type: type, fixture).compactMap { numbers[$0] }
                let expected = devices.filter { device in
                    audience.included.contains { $0.allSatisfy(device.matches) }
                        && !audience.excluded.contains { $0.allSatisfy(device.matches) }
                }
                #expect(found == expected.map(\.number), "\(audience)")
                matchCount += found.count
            }
            // The expressions are worth something only when some match and some do not.
            #expect((5_000...95_000).contains(matchCount))
        }
    }

    @Test("on places are decided metres away from where they turn")
    func distinctDistances() {
        for one in FilterDevice.places {
            for other in FilterDevice.places {
                let distance = FilterDevice.distance(one, other)
                #expect(FilterDevice.radii.dropFirst(2).allSatisfy { abs($0 - distance) > 0.5 }, "\(one) \(other) \(distance)")
            }
        }
    }

    @Test("hold what they compare with in parameters only, and bound every look-up by the window")
    func isBounded() {
        var random = SeededGenerator(seed: 11)
        var lookUpCount = 0
        for _ in 0..<300 {
            let audience = FrozenAudience(
                included: Self.branches(&random, allowsEverybody: true),
                excluded: Bool.random(using: &random) ? Self.branches(&random, allowsEverybody: false) : [])
            let sql = AudienceSQL(audience)
            for text in [sql.source(withDevice: true), sql.deviceSource] {
                // What is quoted is the pattern of a number; no text of a filter is.
                #expect(!text.replacing("'\(TagNumber.pattern)'", with: "").contains("'"), "\(audience)")
                #expect(text.contains("device.device_id > $3 and device.device_id <= $4"))
                for lookUp in text.split(separator: "from device_tag as tag").dropFirst() {
                    lookUpCount += 1
                    #expect(lookUp.prefix { $0 != "\n" }.isEmpty)
                    let condition = lookUp.split(separator: "token.device_id in")[0]
                    #expect(condition.contains("tag_hash($1, "))
                    #expect(condition.contains("tag.device_id > $3 and tag.device_id <= $4)"))
                }
            }
            #expect(sql.source(withDevice: false).contains("token.device_id > $3 and token.device_id <= $4"))
        }
        #expect(lookUpCount > 100)
    }

    @Test(
        "reach every value that a tag may hold",
        arguments: ["", " ", "a\nb", "\t", "\u{85}", "true", "1e100", "a,b", String(repeating: "v", count: 256)])
    func reachValues(value: String) async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.tags = ["k": value] }
            try await fixture.addDevice(2) { $0.tags = ["k": "other"] }
            let type = Int32(try #require(try await fixture.number("select type_id from activity_type")))
            var writer = JSONWriter()
            writer.string(value)
            let literal = String(decoding: writer.bytes, as: UTF8.self)
            let numbers = [try await fixture.deviceNumber(1), try await fixture.deviceNumber(2)]
            for (relation, operand, expected) in [
                ("=", literal, numbers[0]), ("!=", literal, numbers[1]), ("in_array", "[\(literal)]", numbers[0]),
                ("not_in_array", "[\(literal)]", numbers[1]),
            ] {
                let list = #"[{"field":"tag","key":"k","relation":"\#(relation)","value":\#(operand)}]"#
                let filters = try FilterParser.parse(try JSONDocument(parsing: Array(list.utf8)).root, field: "filters")
                let audience = FrozenAudience(included: filters.branches, excluded: [])
                #expect(FrozenAudience(json: audience.json) == audience)
                #expect(try await Self.find(audience, type: type, fixture) == [expected], "\(relation) \(literal)")
            }
        }
    }

    @Test("find the same when read in windows")
    func findInWindows() async throws {
        try await StoreFixture.with { fixture in
            var random = SeededGenerator(seed: 7)
            let devices = (1...60).map { FilterDevice(number: $0, random: &random) }
            for device in devices { try await fixture.addDevice(device.number) { device.fill(&$0) } }
            let type = Int32(try #require(try await fixture.number("select type_id from activity_type")))
            for _ in 0..<30 {
                let audience = FrozenAudience(included: Self.branches(&random, allowsEverybody: false), excluded: [])
                let whole = try await Self.find(audience, type: type, fixture)
                let middle = try await fixture.deviceNumber(30)
                let first = try await Self.find(audience, type: type, fixture, high: middle)
                let second = try await Self.find(audience, type: type, fixture, low: middle)
                #expect(first + second == whole)
            }
        }
    }

    @Test("take any number of conditions")
    func takeMany() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.tags = ["t7": "v7"] }
            let type = Int32(try #require(try await fixture.number("select type_id from activity_type")))
            let branches = (0..<400).map { [FilterCondition.tag(key: "t\($0)", .compares(.equal, "v\($0)"))] }
            let found = try await Self.find(FrozenAudience(included: branches, excluded: []), type: type, fixture)
            #expect(try await found == [fixture.deviceNumber(1)])
        }
    }

    @Test(
        "order versions by their numbers",
        arguments: [
            ("1.2.0", [1, 2]), ("0", []), ("1.10", [1, 10]), ("", nil), ("1..2", nil), ("v1", nil), ("1.2-beta", nil),
            ("1234567890123456789", nil), ("2.0000000000000000000", [2]), ("1.0000000000000000001", [1, 1]), ("1. 2", nil),
        ] as [(String, [Int64]?)])
    func parseVersions(version: String, parts: [Int64]?) { #expect(AppVersion.parts(version) == parts) }

    private static func find(
        _ audience: FrozenAudience, type: Int32, _ fixture: StoreFixture, low: Int64 = 0, high: Int64 = .max
    ) async throws -> [Int64] {
        let sql = AudienceSQL(audience)
        let result = try await fixture.session.queryUnprepared(
            "select token.device_id \(sql.source(withDevice: false)) order by token.device_id",
            sql.parameters(
                application: fixture.application.id, type: type, low: low, high: high, momentMicroseconds: moment * 1_000_000))
        return (0..<result.rowCount).map { result.int64(row: $0, column: 0) }
    }

    private static func branches(_ random: inout SeededGenerator, allowsEverybody: Bool) -> [[FilterCondition]] {
        if allowsEverybody, Int.random(in: 0..<12, using: &random) == 0 { return FrozenAudience.everybody }
        return (0..<Int.random(in: 1...3, using: &random)).map { _ in
            (0..<Int.random(in: 1...3, using: &random)).map { _ in FilterCondition.random(&random) }
        }
    }
}

/// Reproducible randomness (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
    mutating func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &self)] }
}
