import APNsSimulator
import HTTP
import PostgreSQL
import TestSupport
import Testing

@Suite("A crash around a broadcast channel", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5)))
struct ChannelCrashTests {
    /// A gateway whose app has channels, two of them free.
    private static func run(_ body: (Deployment) async throws -> Void) async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevice(1, os: "18.0")
            try await gateway.switchChannels()
            try await gateway.waitForFreeChannels()
            try await body(gateway)
        }
    }

    /// Kills the daemon, lets time pass, and starts another one.
    private static func crash(_ gateway: Deployment) async throws {
        try await gateway.crashDaemon()
        gateway.simulator.removeRules()
        await gateway.simulator.release()
        try await gateway.endChannelLeases()
        try await gateway.startDaemon()
    }

    /// Starts, updates and ends two activities; each has a channel of its own.
    private static func use(_ gateway: Deployment) async throws {
        for activity in ["after-1", "after-2"] {
            _ = try await gateway.waitUntilFinished(try #require(try await gateway.start(activity)["id"]))
            #expect(try await gateway.push("update", activity).status == 201)
            #expect(try await gateway.push("end", activity).status == 201)
        }
        let channels = try await [gateway.channel(of: "after-1"), gateway.channel(of: "after-2")].compactMap { $0 }
        #expect(Set(channels).count == 2)
    }

    @Test("after it was asked for and before Apple's answer leaves none behind", arguments: [true, false])
    func creation(isCarriedOut: Bool) async throws {
        try await Self.run { gateway in
            gateway.script(.create) { effect in
                effect.isSilent = true
                if !isCarriedOut { effect.answer = PushAnswer(.internalServerError) }
            }
            let asked = gateway.simulator.requests(RequestQuery(operation: .create)).count
            #expect(try await gateway.start("match-1").status == 201)
            // Settled: it is carried out, and there will be no answer.
            var query = RequestQuery(operation: .create)
            query.isSettled = true
            #expect(await gateway.simulator.waitForRequests(asked + 1, matching: query).count == asked + 1)
            let lost = gateway.liveChannels.count
            #expect(lost == (isCarriedOut ? 3 : 2))
            try await Self.crash(gateway)
            try await Self.use(gateway)
            try await gateway.expectNoLeak(used: 3)
        }
    }

    @Test("after Apple's answer and before it is written down leaves none behind")
    func creationUnwritten() async throws {
        try await Self.run { gateway in
            gateway.script(.create) { $0.isHeld = true }
            let asked = gateway.simulator.requests(RequestQuery(operation: .create)).count
            #expect(try await gateway.start("match-1").status == 201)
            _ = await gateway.simulator.waitForRequests(asked + 1, matching: RequestQuery(operation: .create))
            try await gateway.withSession { session in
                try await session.execute("begin; lock table channel in share mode")
                var query = RequestQuery(operation: .create)
                query.isSettled = true
                await gateway.simulator.release()
                #expect(await gateway.simulator.waitForRequests(asked + 1, matching: query).count == asked + 1)
                await gateway.daemon.crash()
                try await session.execute("rollback")
            }
            try await Self.crash(gateway)
            try await Self.use(gateway)
            try await gateway.expectNoLeak(used: 3)
        }
    }

    @Test("while Apple's list is compared keeps nobody from comparing it")
    func listing() async throws {
        try await Self.run { gateway in
            gateway.script(.list) { $0.isHeld = true }
            let asked = gateway.simulator.requests(RequestQuery(operation: .list)).count
            try await gateway.execute("update channel_place set listed_at = now() - interval '1 hour'")
            _ = await gateway.simulator.waitForRequests(asked + 1, matching: RequestQuery(operation: .list))
            try await Self.crash(gateway)
            try await gateway.waitUntil("select bool_and(listed_at > now() - interval '30 minutes') from channel_place")
            try await Self.use(gateway)
            try await gateway.expectNoLeak(used: 2)
        }
    }

    @Test("while one is deleted deletes it in the end", arguments: [true, false])
    func deletion(isCarriedOut: Bool) async throws {
        try await Self.run { gateway in
            gateway.script(.delete) { effect in
                effect.isSilent = true
                if !isCarriedOut { effect.answer = PushAnswer(.internalServerError) }
            }
            _ = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            let channel = try #require(try await gateway.channel(of: "match-1"))
            _ = try await gateway.waitUntilFinished(try #require(try await gateway.push("end", "match-1")["id"]))
            try await gateway.letActivitiesAge()
            // A new daemon looks for what is over at once, later ones once a minute.
            try await gateway.crashDaemon()
            try await gateway.endChannelLeases()
            try await gateway.startDaemon()
            #expect(
                await gateway.simulator.waitForRequests(1, matching: RequestQuery(operation: .delete), timeout: .seconds(30))
                    .count == 1)
            try await Self.crash(gateway)
            try await Self.use(gateway)
            try await gateway.expectNoLeak(used: 2)
            #expect(gateway.simulator.channels().first { $0.identifier == channel }?.isDeleted == true)
        }
    }

    @Test("of one daemon in the middle of a creation leaves the other one's channels alone")
    func twoDaemons() async throws {
        try await Self.run { gateway in
            let first = gateway.daemon
            try await gateway.startDaemon()
            gateway.script(.create) { $0.isHeld = true }
            let asked = gateway.simulator.requests(RequestQuery(operation: .create)).count
            for number in 1...4 { #expect(try await gateway.start("match-\(number)", daemon: first).status == 201) }
            _ = await gateway.simulator.waitForRequests(asked + 1, matching: RequestQuery(operation: .create))
            await first.crash()
            await gateway.simulator.release()
            try await gateway.endChannelLeases()
            for number in 5...8 { #expect(try await gateway.start("match-\(number)").status == 201) }
            var channels: [String] = []
            for number in 1...8 { channels += try await [gateway.channel(of: "match-\(number)")].compactMap { $0 } }
            #expect(Set(channels).count == channels.count)
            // A comparison with Apple's list comes soon after an answer that never came.
            try await gateway.execute("update channel_place set listed_at = now() - interval '1 minute'")
            try await gateway.expectNoLeak(used: channels.count)
        }
    }
}
