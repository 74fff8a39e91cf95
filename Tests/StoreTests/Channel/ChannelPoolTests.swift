import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Pool of channels", .enabled(if: TestDatabase.isAvailable)) struct ChannelPoolTests {
    private func census(_ fixture: StoreFixture, _ environment: PushEnvironment = .production) async throws -> ChannelCensus {
        let all = try await fixture.store.channelCensus(countsOver: true)
        return try #require(all.first { $0.place == fixture.place(environment) }, "\(all)")
    }

    @Test("counts an app from the moment it is switched on, in its own environment until a start asks for the other")
    func countsPlaces() async throws {
        try await StoreFixture.with { fixture in
            let places = try await fixture.store.channelCensus(countsOver: true)
            #expect(places.isEmpty)
        }
        try await StoreFixture.withChannels { fixture in
            let first = try await fixture.store.channelCensus(countsOver: true)
            #expect(first == [ChannelCensus(place: fixture.place())])
            #expect(try await fixture.store.intendChannel(.mostRecent, in: fixture.place(.sandbox), seconds: 30) == .needsListing)
            #expect(try await fixture.store.channelCensus(countsOver: true).map(\.place.environment) == [.production, .sandbox])
        }
    }

    @Test("counts channels in every state, and when Apple's list was compared")
    func countsStates() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.compare(["others"])
            for number in 1...3 { try await fixture.addChannel("p\(number)") }
            _ = try await fixture.intend()
            _ = try await fixture.intend(seconds: 0)
            try await fixture.addDevice(1)
            _ = try await fixture.acceptWithChannels(StoreFixture.start("m"))
            var expected = ChannelCensus(place: fixture.place())
            expected.intendedCount = 2
            expected.unresolvedCount = 1
            expected.freeCount = 2
            expected.usedCount = 1
            expected.totalCount = 6
            expected.foreignCount = 1
            expected.secondsSinceListing = try await census(fixture).secondsSinceListing
            #expect(try await census(fixture) == expected)
            #expect(try #require(expected.secondsSinceListing) < 60)
        }
    }

    @Test("lets one daemon at a time look after a place")
    func keeps() async throws {
        try await StoreFixture.withChannels { fixture in
            #expect(try await fixture.store.keep(fixture.place(), seconds: 60))
            #expect(try await !fixture.store.keep(fixture.place(), seconds: 60))
            #expect(try await fixture.store.keep(fixture.place(.sandbox), seconds: 60))
            try await fixture.store.leave(fixture.place())
            #expect(try await fixture.store.keep(fixture.place(), seconds: 60))
        }
    }

    @Test("gives up the channel of an activity that is over, once its end was sent, and not before")
    func retires() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.compare([])
            for number in 1...2 { try await fixture.addChannel("p\(number)") }
            try await fixture.addDevice(1)
            for activity in ["m1", "m2"] { _ = try await fixture.acceptWithChannels(StoreFixture.start(activity)) }
            _ = try await fixture.sendAll()
            #expect(try await census(fixture).overCount == 0)
            _ = try await fixture.accept(.end, of: "m1")
            #expect(try await census(fixture).overCount == 0)
            _ = try await fixture.sendAll()
            #expect(try await census(fixture).overCount == 1)
            try await fixture.store.retireChannels(of: fixture.place(), overForSeconds: 3600)
            #expect(try await fixture.channelStates() == ["p1": .used, "p2": .used])
            try await fixture.store.retireChannels(of: fixture.place(), overForSeconds: 0)
            #expect(try await fixture.channelStates() == ["p1": .leaving, "p2": .used])
            // Nobody ended the other one: it is over when iOS takes nothing for it any more.
            try await fixture.session.execute(
                "update update_token set started_at = started_at - \(ActivityWindow.endSeconds) where device_id = -1")
            #expect(try await census(fixture).overCount == 1)
            try await fixture.store.retireChannels(of: fixture.place(), overForSeconds: 3600)
            #expect(try await fixture.channelStates() == ["p1": .leaving, "p2": .leaving])
        }
    }

    @Test("takes identifiers of up to 512 bytes, ours and others'")
    func longIdentifiers() async throws {
        try await StoreFixture.withChannels { fixture in
            let longest = String(repeating: "f", count: ChannelPlan.identifierByteCount)
            #expect(try await fixture.compare([longest]).foreignCount == 1)
            try await fixture.addChannel(String(repeating: "p", count: ChannelPlan.identifierByteCount))
            #expect(try await fixture.channelStates().keys.allSatisfy { $0.utf8.count == 512 })
        }
    }

    @Test("leaves the channel of an activity whose name is in use at the moment")
    func retiresUnlocked() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.compare([])
            try await fixture.addChannel("p1")
            try await fixture.addDevice(1)
            _ = try await fixture.acceptWithChannels(StoreFixture.start("m"))
            try await fixture.session.execute(
                "update update_token set started_at = started_at - \(ActivityWindow.endSeconds) where device_id = -1")
            try await fixture.session.execute(
                "begin; select pg_advisory_xact_lock(\(fixture.application.id), hashtext('m'))")
            try await fixture.store.retireChannels(of: fixture.place(), overForSeconds: 0)
            #expect(try await fixture.channelStates() == ["p1": .used])
            try await fixture.session.execute("commit")
            try await fixture.store.retireChannels(of: fixture.place(), overForSeconds: 0)
            #expect(try await fixture.channelStates() == ["p1": .leaving])
        }
    }

    @Test("gives a start another channel when the one its activity has is given up at that moment")
    func takesAnother() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.compare([])
            for number in 1...2 { try await fixture.addChannel("p\(number)") }
            try await fixture.addDevice(1)
            _ = try await fixture.acceptWithChannels(StoreFixture.start("m"))
            try await fixture.session.execute(
                "begin; update channel set state = 3, activity_number = null where state = 2")
            async let started = fixture.acceptWithChannels(StoreFixture.start("m"))
            try await fixture.waitUntilBlocked()
            try await fixture.session.execute("commit")
            _ = try await started
            #expect(try await fixture.channels(of: "m") == ["p2"])
            #expect(try await fixture.text("select convert_from(token, 'UTF8') from update_token") == "p2")
        }
    }

    @Test("hands a channel that is to go to one daemon, until that took too long")
    func leaves() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.compare([])
            try await fixture.addChannel("p1")
            try await fixture.store.retireFreeChannels(of: fixture.place())
            #expect(try await census(fixture).deletableCount == 1)
            let claimed = try await fixture.store.claimLeavingChannels(of: fixture.place(), limit: 10, seconds: 30)
            #expect(claimed.map(\.identifier) == ["p1"])
            #expect(try await census(fixture).deletableCount == 0)
            #expect(try await fixture.store.claimLeavingChannels(of: fixture.place(), limit: 10, seconds: 30).isEmpty)
            try await fixture.store.postponeDeletion(request: claimed[0].request, seconds: 0)
            let again = try await fixture.store.claimLeavingChannels(of: fixture.place(), limit: 10, seconds: 30)
            #expect(again == claimed)
            try await fixture.store.channelIsGone(request: claimed[0].request)
            #expect(try await fixture.channelStates().isEmpty)
        }
    }

    @Test("compares only when nothing is under way, and makes and deletes nothing meanwhile")
    func excludes() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.compare([])
            try await fixture.addChannel("p1")
            try await fixture.store.retireFreeChannels(of: fixture.place())
            let request = try await fixture.intend()
            #expect(try await fixture.store.beginListing(of: fixture.place(), seconds: 30) == nil)
            try await fixture.store.channelWasNotMade(request: request)
            let listing = try #require(try await fixture.store.beginListing(of: fixture.place(), seconds: 30))
            #expect(try await fixture.store.intendChannel(.mostRecent, in: fixture.place(), seconds: 30) == .isListing)
            #expect(try await fixture.store.claimLeavingChannels(of: fixture.place(), limit: 10, seconds: 30).isEmpty)
            #expect(try await fixture.store.beginListing(of: fixture.place(), seconds: 30) == nil)
            try await fixture.store.abandonListing(listing, of: fixture.place())
            #expect(try await fixture.store.finishListing(listing, of: fixture.place(), found: []) == nil)
            #expect(try await fixture.store.claimLeavingChannels(of: fixture.place(), limit: 10, seconds: 30).count == 1)
        }
    }

    @Test("recovers a channel whose creation was never answered, and takes others' for others'")
    func recovers() async throws {
        try await StoreFixture.withChannels { fixture in
            let first = try await fixture.compare(["others"])
            #expect(first.foreignCount == 1)
            try await fixture.addChannel("p1")
            _ = try await fixture.intend(seconds: 0)
            let second = try await fixture.compare(["others", "p1", "lost"])
            #expect(second.recoveredCount == 1)
            #expect(second.foreignCount == 0)
            #expect(try await fixture.channelStates() == ["others": .foreign, "p1": .free, "lost": .leaving])
            let third = try await fixture.compare(["p1", "lost"])
            #expect(third == ChannelListingReport())
            #expect(try await fixture.channelStates() == ["p1": .free, "lost": .leaving])
        }
    }

    @Test("takes back what it said of a creation that was answered too late for it")
    func lateAnswer() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.compare([])
            let early = try await fixture.intend(seconds: 0)
            try await fixture.compare([])
            try await fixture.store.channelWasMade("late", request: early, in: fixture.place())
            #expect(try await fixture.channelStates() == ["late": .leaving])
            try await fixture.compare(["late", "others"])
            let other = try await fixture.intend(seconds: 0)
            try await fixture.compare(["late", "others", "x", "y"])
            #expect(try await fixture.channelStates() == ["late": .leaving, "others": .foreign, "x": .foreign, "y": .foreign])
            try await fixture.store.channelWasMade("x", request: other, in: fixture.place())
            #expect(try await fixture.channelStates()["x"] == .leaving)
        }
    }

    @Test("forgets channels that are gone, those of activities with their updates, but not such as were just made")
    func forgets() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.compare([])
            for number in 1...3 { try await fixture.addChannel("p\(number)") }
            try await fixture.addDevice(1)
            _ = try await fixture.acceptWithChannels(StoreFixture.start("m"))
            #expect(try await fixture.compare([]) == ChannelListingReport())
            try await fixture.session.execute(
                "update channel set made_at = made_at - interval '5 minutes' where channel_id in ('p1', 'p2')")
            var report = ChannelListingReport()
            report.goneCount = 2
            report.goneUsedCount = 1
            #expect(try await fixture.compare([]) == report)
            #expect(try await fixture.channelStates() == ["p3": .free])
            #expect(try await fixture.number("select count(*) from update_token") == 0)
        }
    }

    @Test("knows the channels of other apps with the same bundle identifier")
    func sharedBundle() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.compare([])
            try await fixture.addChannel("p1")
            var other = fixture
            let created = try await StoreFixture.makeApplication(fixture.store)
            other.application = try #require(try await fixture.store.setBroadcastChannels(true, of: created.publicID))
            #expect(other.application.bundleID == fixture.application.bundleID)
            try await other.addChannel("q1")
            #expect(try await other.compare(["p1", "q1"]) == ChannelListingReport())
            let total = try await census(other).totalCount
            #expect(total == 2)
            #expect(try await census(other).freeCount == 1)
        }
    }

    @Test("of an app that is switched off goes, and stays in sight until then")
    func switchedOff() async throws {
        try await StoreFixture.withChannels { fixture in
            var fixture = fixture
            try await fixture.compare([])
            try await fixture.addChannel("p1")
            fixture.application = try #require(
                try await fixture.store.setBroadcastChannels(false, of: fixture.application.publicID))
            let standing = try await census(fixture)
            #expect(ChannelPlan.tasks(for: standing, isFirstLook: false).prefix(2) == [.retireFree, .delete])
            try await fixture.store.retireFreeChannels(of: fixture.place())
            let claimed = try await fixture.store.claimLeavingChannels(of: fixture.place(), limit: 1, seconds: 30)
            try await fixture.store.channelIsGone(request: try #require(claimed.first).request)
            #expect(try await fixture.store.channelCensus(countsOver: true).isEmpty)
        }
    }
}
