import Testing

@testable import Gateway

@Suite("Instance identifier") struct InstanceIDTests {
    // The first two are examples of github.com/ulid; the numbers were worked out apart from this code.
    @Test(
        "reads known ULIDs and writes them in upper case",
        arguments: [
            ("01ARZ3NDEKTSV4RRFFQ69G5FAV", 0x0156_3E3A_B5D3_D676, 0x4C61_EFB9_9302_BD5B),
            ("01ARYZ6S41TSV4RRFFQ69G5FAV", 0x0156_3DF3_6481_D676, 0x4C61_EFB9_9302_BD5B),
            ("01BX5ZZKBKACTAV9WEVGEMMVRZ", 0x015F_4BFF_CD73_5334, 0xADA7_8EDC_1D4A_6F1F),
            ("00000000000000000000000000", 0, 0), ("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", .max, .max),
            ("00000000000000000000000001", 0, 1), ("0000000000000G000000000000", 1, 0),
            ("00000000010000000000000000", 0x10000, 0),
        ] as [(String, UInt64, UInt64)])
    func known(text: String, high: UInt64, low: UInt64) throws {
        let id = try #require(InstanceID(text))
        #expect(id.value == UUID(high: high, low: low))
        #expect("\(id)" == text)
        #expect(InstanceID(text.lowercased()) == id)
        #expect("\(InstanceID(UUID(high: high, low: low)))" == text)
    }

    @Test(
        "reads nothing else",
        arguments: [
            "", "01ARZ3NDEKTSV4RRFFQ69G5FA", "01ARZ3NDEKTSV4RRFFQ69G5FAVV", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
            "80000000000000000000000000", "01ARZ3NDEKTSV4RRFFQ69G5FAI", "01ARZ3NDEKTSV4RRFFQ69G5FAl",
            "01ARZ3NDEKTSV4RRFFQ69G5FAO", "01ARZ3NDEKTSV4RRFFQ69G5FAu", "01ARZ3NDEK-SV4RRFFQ69G5FAV",
            " 1ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5Fé", "{instance_id}", "string",
        ])
    func refused(text: String) { #expect(InstanceID(text) == nil) }

    @Test("is minted with the time in front and 80 random bits behind")
    func minted() throws {
        let ids = (0..<100).map { _ in InstanceID.mint(milliseconds: 1_469_918_176_385) }
        #expect(Set(ids).count == 100)
        for id in ids {
            #expect("\(id)".hasPrefix("01ARYZ6S41"))
            #expect(id.value.high >> 16 == 1_469_918_176_385)
            #expect(InstanceID("\(id)") == id)
        }
        // Later ones come later in the order of their text.
        #expect("\(InstanceID.mint(milliseconds: 1))" < "\(InstanceID.mint(milliseconds: 2))")
    }
}
