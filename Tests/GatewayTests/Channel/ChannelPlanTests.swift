import Testing

@testable import Gateway

@Suite("Channel plan") struct ChannelPlanTests {
    static func application(isOn: Bool = true) -> Application {
        Application(
            id: ApplicationID(rawValue: 1), publicID: UUID(high: 1, low: 1), name: "Match", bundleID: "org.example.match",
            providerKey: ProviderKey(teamID: "TEAM123456", keyID: "KEY1234567"), defaultEnvironment: .production,
            hasBroadcastChannels: isOn)
    }

    static func census(isOn: Bool = true, _ change: (inout ChannelCensus) -> Void) -> ChannelCensus {
        var census = ChannelCensus(place: ChannelPlace(application: application(isOn: isOn), environment: .production))
        census.secondsSinceListing = 1
        census.freeCount = ChannelPlan.freeCount
        census.totalCount = ChannelPlan.freeCount
        change(&census)
        return census
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let census: ChannelCensus
        let tasks: [ChannelTask]
        var isFirstLook = false

        init(_ description: String, _ tasks: [ChannelTask], isFirstLook: Bool = false, _ census: ChannelCensus) {
            testDescription = description
            self.tasks = tasks
            self.isFirstLook = isFirstLook
            self.census = census
        }
    }

    static let rows: [Row] = [
        Row("as it should be", [], census { _ in }),
        Row("a place that was never compared", [.list, .make(2)], census { $0 = ChannelCensus(place: $0.place) }),
        Row("a daemon that has just begun", [.list], isFirstLook: true, census { _ in }),
        Row("a comparison of ten minutes ago", [.list], census { $0.secondsSinceListing = 600 }),
        Row("a comparison of less", [], census { $0.secondsSinceListing = 599 }),
        Row(
            "an answer that never came", [.list],
            census {
                $0.unresolvedCount = 1
                $0.intendedCount = 1
                $0.secondsSinceListing = 30
            }),
        Row("the same, just compared", [], census { $0.unresolvedCount = 1 }),
        Row("one that was taken", [.make(1)], census { $0.freeCount = 1 }),
        Row(
            "one that is being made already", [],
            census {
                $0.freeCount = 1
                $0.intendedCount = 1
            }),
        Row(
            "room for one", [.make(1)],
            census {
                $0.freeCount = 0
                $0.totalCount = 9_999
            }),
        Row(
            "no room", [],
            census {
                $0.freeCount = 0
                $0.totalCount = 10_000
            }),
        Row("activities that are over", [.retireOver(lingerSeconds: 28_800), .delete], census { $0.overCount = 3 }),
        Row(
            "the same with few left", [.retireOver(lingerSeconds: 60), .delete],
            census {
                $0.overCount = 3
                $0.totalCount = 9_001
            }),
        Row("channels to be deleted", [.delete], census { $0.deletableCount = 1 }),
        Row("an app that is switched off", [.retireFree, .delete], census(isOn: false) { _ in }),
        Row("the same with nothing left", [], census(isOn: false) { $0.freeCount = 0 }),
    ]

    @Test("says what is to be done of", arguments: rows)
    func plans(row: Row) {
        #expect(ChannelPlan.tasks(for: row.census, isFirstLook: row.isFirstLook) == row.tasks)
    }

    @Test("counts what Apple still allows")
    func left() {
        #expect(Self.census { $0.totalCount = 9_990 }.leftCount == 10)
        #expect(Self.census { $0.totalCount = 10_001 }.leftCount == 0)
    }
}

@Suite("Comparison with Apple's list") struct ChannelComparisonTests {
    @Test("finds nothing where both say the same")
    func same() {
        let comparison = ChannelComparison(listed: ["a", "b"], known: ["a": true, "b": false], unresolvedCount: 0)
        #expect(comparison.gone.isEmpty && comparison.ours.isEmpty && comparison.foreign.isEmpty && !comparison.isAmbiguous)
    }

    @Test("forgets what is gone, but for what need not be there yet")
    func gone() {
        #expect(ChannelComparison(listed: [], known: ["a": true, "b": false], unresolvedCount: 1).gone == ["a"])
    }

    @Test("takes as ours what creations in doubt explain, and nothing beyond")
    func ours() {
        let explained = ChannelComparison(listed: ["a", "x", "y"], known: ["a": true], unresolvedCount: 2)
        #expect(explained.ours == ["x", "y"])
        #expect(explained.foreign.isEmpty)
        let unexplained = ChannelComparison(listed: ["x"], known: [:], unresolvedCount: 0)
        #expect(unexplained.ours.isEmpty)
        #expect(unexplained.foreign == ["x"])
        #expect(!unexplained.isAmbiguous)
    }

    @Test("leaves all alone when ours cannot be told from others'")
    func ambiguous() {
        let comparison = ChannelComparison(listed: ["x", "y"], known: [:], unresolvedCount: 1)
        #expect(comparison.ours.isEmpty)
        #expect(comparison.foreign == ["x", "y"])
        #expect(comparison.isAmbiguous)
    }
}
