import Testing

@testable import Gateway

@Suite("Channel keeper", .timeLimit(.minutes(1))) struct ChannelKeeperTests {
    let rig = KeeperRig()

    @Test("compares first, then keeps as many ready as there should be")
    func fills() async throws {
        let calls = try await rig.look { $0.freeCount = 0 }
        #expect(
            calls == [
                "keep", "begin", "list", "finish 0", "intend", "create", "made channel-0", "intend", "create", "made channel-1",
                "leave",
            ])
        #expect(try await rig.look() == [])
        #expect(rig.metric("openpush_channels_made_total 2"))
    }

    @Test("looks for channels whose activity is over once a minute")
    func countsOver() async throws {
        for _ in 0..<13 {
            _ = try await rig.look()
            await rig.clock.sleep(ChannelKeeper.interval)
        }
        #expect(rig.apple.with { $0.countsOver } == [true] + Array(repeating: false, count: 11) + [true])
    }

    @Test("leaves a place alone that another daemon looks after")
    func keepsOut() async throws {
        rig.apple.with { $0.isKeptElsewhere = true }
        #expect(try await rig.look { $0.freeCount = 0 } == ["keep"])
    }

    @Test("goes on without a comparison while something is under way, and not when Apple's list cannot be read")
    func listing() async throws {
        rig.apple.with { $0.listing = nil }
        #expect(try await rig.look { $0.freeCount = 1 } == ["keep", "begin", "intend", "create", "made channel-0", "leave"])
        rig.apple.with {
            $0.listing = FakeApple.request
            $0.listResult = .unclear("no answer")
        }
        #expect(try await rig.look { $0.freeCount = 1 } == ["keep", "begin", "list", "abandon", "leave"])
    }

    @Test("takes back its word when Apple certainly made no channel, and keeps it when nobody knows")
    func refusals() async throws {
        _ = try await rig.look()
        rig.apple.with { $0.createResult = .refused(.later(.tooManyRequests, delayMilliseconds: 5_000)) }
        #expect(try await rig.look { $0.freeCount = 0 } == ["keep", "intend", "create", "not made", "leave"])
        rig.apple.with { $0.createResult = .unclear("no answer") }
        // Apple said when it wants to be asked again.
        #expect(try await rig.look { $0.freeCount = 0 } == [])
        await rig.clock.sleep(.seconds(5))
        #expect(try await rig.look { $0.freeCount = 0 } == ["keep", "intend", "create", "leave"])
        #expect(rig.lines.contains("It is not known whether a broadcast channel was made"))
        #expect(rig.metric("openpush_channel_failures_total 2"))
    }

    @Test("compares again when Apple has more channels than it knew of")
    func full() async throws {
        _ = try await rig.look()
        rig.apple.with { $0.createResult = .refused(.full) }
        #expect(try await rig.look { $0.freeCount = 0 } == ["keep", "intend", "create", "not made", "leave"])
        #expect(try await rig.look { $0.totalCount = 10_000 } == ["keep", "begin", "list", "finish 0", "leave"])
        // By our count there is room, by Apple's there is none: for a minute no start asks in vain, and no list is read for each of them.
        for _ in 0..<3 {
            #expect(try await !rig.keeper.makeNow(in: rig.place, timeout: .seconds(2)))
            #expect(try await rig.look { $0.freeCount = 0 } == ["keep", "leave"])
        }
        await rig.clock.sleep(ChannelKeeper.refusalPause)
        #expect(try await rig.look { $0.freeCount = 0 } == ["keep", "intend", "create", "not made", "leave"])
    }

    @Test("asks once for a list that cannot be read, and nothing more for a start when Apple refused meanwhile")
    func failedList() async throws {
        rig.apple.with {
            $0.intents = Array(repeating: .needsListing, count: 10)
            $0.listResult = .refused(.notSent("no connection"))
        }
        #expect(try await !rig.keeper.makeNow(in: rig.place, timeout: .seconds(2)))
        #expect(rig.apple.calls == ["intend", "begin", "list", "abandon"])
        rig.apple.with {
            $0.calls = []
            $0.intents = [.isListing, .stored(FakeApple.request)]
            $0.listResult = .refused(.later(.tooManyRequests, delayMilliseconds: 60_000))
        }
        // Somebody else's refusal comes while this start waits.
        rig.apple.with { $0.onIntend = { [keeper = rig.keeper] in _ = try? await keeper.look() } }
        rig.apple.with { $0.census = [ChannelPlanTests.census { $0.freeCount = 0 }] }
        #expect(try await !rig.keeper.makeNow(in: rig.place, timeout: .seconds(2)))
        #expect(rig.apple.calls == ["intend", "keep", "begin", "list", "abandon", "leave"])
    }

    @Test("sends nothing when the time of a request is over before it could leave")
    func late() async throws {
        rig.apple.with { [time = rig.apple.time] in $0.onIntend = { time.add(.seconds(3)) } }
        #expect(try await !rig.keeper.makeNow(in: rig.place, timeout: .seconds(2)))
        #expect(rig.apple.calls == ["intend", "not made"])
    }

    @Test("leaves a place whose task fails, so that no daemon waits for its time to be over")
    func leavesAfterFailure() async throws {
        rig.apple.with { $0.refusedFinishes = 1 }
        rig.apple.with { $0.census = [ChannelPlanTests.census { _ in }] }
        await #expect(throws: StorageError.refused(sqlState: "23514")) { try await rig.keeper.look() }
        #expect(rig.apple.calls == ["keep", "begin", "list", "finish 0", "leave"])
    }

    @Test("asks nothing more for a minute when only the operator can help")
    func pauses() async throws {
        _ = try await rig.look()
        rig.apple.with { $0.createResult = .refused(.notEnabled) }
        #expect(try await rig.look { $0.freeCount = 0 }.contains("create"))
        #expect(rig.lines.contains("BroadcastFeatureNotEnabled"))
        #expect(try await rig.look { $0.freeCount = 0 } == [])
        #expect(try await !rig.keeper.makeNow(in: rig.place, timeout: .seconds(1)))
        await rig.clock.sleep(ChannelKeeper.refusalPause)
        #expect(try await rig.look { $0.freeCount = 0 }.contains("create"))
    }

    @Test(
        "deletes what is to go, and takes what Apple does not know for deleted",
        arguments: [
            .done(true), .refused(.unknownChannel), .refused(.notEnabled),
        ] as [ChannelResult<Bool>])
    func deletes(result: ChannelResult<Bool>) async throws {
        _ = try await rig.look()
        rig.apple.with {
            $0.leaving = [LeavingChannel(request: FakeApple.request, identifier: "a")]
            $0.deleteResult = result
        }
        #expect(
            try await rig.look { $0.overCount = 1 } == ["keep", "retire 28800", "claim", "delete a", "gone", "leave"])
    }

    @Test("tries a deletion again later, with all behind it")
    func postpones() async throws {
        _ = try await rig.look()
        rig.apple.with {
            $0.leaving = ["a", "b"].map { LeavingChannel(request: FakeApple.request, identifier: $0) }
            $0.deleteResult = .refused(.later(.tooManyRequests, delayMilliseconds: 5_000))
        }
        #expect(
            try await rig.look { $0.deletableCount = 2 }
                == ["keep", "claim", "delete a", "postpone 5", "postpone 5", "leave"])
        rig.apple.with { $0.deleteResult = .unclear("no answer") }
        #expect(try await rig.look { $0.deletableCount = 2 } == [])
        await rig.clock.sleep(.seconds(5))
        #expect(try await rig.look { $0.deletableCount = 2 } == ["keep", "claim", "delete a", "leave"])
    }

    @Test(
        "deletes the others when Apple refuses to delete one, stops deleting when it refuses three, and goes on making channels")
    func refusedDeletions() async throws {
        _ = try await rig.look()
        rig.apple.with {
            $0.leaving = ["a", "b"].map { LeavingChannel(request: FakeApple.request, identifier: $0) }
            $0.deleteResults = ["a": .refused(.other(.badPath))]
        }
        #expect(
            try await rig.look {
                $0.deletableCount = 2
                $0.freeCount = 1
            } == [
                "keep", "claim", "delete a", "postpone 60", "delete b", "gone", "intend", "create", "made channel-0", "leave",
            ])
        rig.apple.with {
            $0.leaving = ["a", "b", "c", "d"].map { LeavingChannel(request: FakeApple.request, identifier: $0) }
            $0.deleteResult = .refused(.other(.badPath))
        }
        #expect(
            try await rig.look {
                $0.deletableCount = 4
                $0.freeCount = 1
            } == [
                "keep", "claim", "delete a", "postpone 60", "delete b", "postpone 60", "delete c", "postpone 60", "postpone 60",
                "intend", "create", "made channel-1", "leave",
            ])
    }

    @Test("stops deleting before its claim is over, and hands the rest back")
    func slowDeletions() async throws {
        _ = try await rig.look()
        rig.apple.with {
            $0.leaving = ["a", "b", "c", "d"].map { LeavingChannel(request: FakeApple.request, identifier: $0) }
            $0.deletionTime = .seconds(4)
        }
        let calls = try await rig.look { $0.deletableCount = 4 }
        #expect(
            calls == ["keep", "claim", "delete a", "gone", "delete b", "gone", "delete c", "gone", "postpone 0", "leave"])
    }

    @Test("looks after the places behind one whose rows PostgreSQL refuses")
    func refusedPlace() async throws {
        let other = ChannelPlanTests.census { $0.freeCount = 0 }
        rig.apple.with {
            $0.refusedKeeps = 1
            $0.census = [ChannelPlanTests.census { $0.freeCount = 0 }, other]
        }
        await #expect(throws: StorageError.refused(sqlState: "23514")) { try await rig.keeper.look() }
        #expect(rig.apple.calls.prefix(5) == ["keep", "keep", "begin", "list", "finish 0"])
    }

    @Test("says what a comparison found, and counts it")
    func tells() async throws {
        rig.apple.with {
            $0.report.recoveredCount = 1
            $0.report.goneCount = 2
            $0.report.foreignCount = 3
            $0.report.isAmbiguous = true
        }
        _ = try await rig.look()
        #expect(rig.lines.contains("Which of Apple's channels are ours cannot be told"))
        #expect(rig.metric("openpush_channels_recovered_total 1"))
        #expect(rig.metric("openpush_channels_lost_total 2"))
        let labels = #"app_id="\#(rig.place.application.publicID)",environment="production""#
        #expect(rig.metric("openpush_channels_left{\(labels)} 9998"))
        #expect(rig.metric("openpush_channels{\(labels),state=\"free\"} 2"))
    }

    @Test("makes a channel on the spot: compares before the first, and waits for a comparison that goes on")
    func makesNow() async throws {
        rig.apple.with { $0.intents = [.needsListing, .isListing, .stored(FakeApple.request)] }
        #expect(try await rig.keeper.makeNow(in: rig.place, timeout: .seconds(2)))
        #expect(
            rig.apple.calls == ["intend", "begin", "list", "finish 0", "intend", "intend", "create", "made channel-0"])
    }

    @Test("gives a channel on the spot up when its time is over")
    func givesUp() async throws {
        rig.apple.with { $0.intents = Array(repeating: .isListing, count: 100) }
        #expect(try await !rig.keeper.makeNow(in: rig.place, timeout: .milliseconds(250)))
        #expect(rig.apple.calls == ["intend", "intend", "intend"])
    }

    @Test("waits for a database that is away")
    func storageAway() async throws {
        rig.apple.with { $0.isStorageAway = true }
        await #expect(throws: StorageError.unavailable) { try await rig.keeper.look() }
    }
}
