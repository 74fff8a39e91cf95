import Testing

@testable import Gateway

@Suite("Fan-out worker at the end of a time to live", .timeLimit(.minutes(1))) struct WorkerExpiryTests {
    /// Seconds since 1970 at which the bench's clock begins.
    private static let beginning: Int64 = 1_800_000_000

    /// Lets time pass once everybody who looks at the clock sleeps, so that nobody is outrun: who claims, who records, who extends the lease and who
    /// watches deadlines.
    private static func tick(_ bench: WorkerBench) async {
        while bench.clock.sleeperCount < 4 { await Task.yield() }
        bench.clock.tick()
    }

    @Test("sends nothing of a notification whose time is over when it is claimed")
    func overBefore() async throws {
        let bench = try WorkerBench()
        bench.enqueue(event: .start, devices: 1...3, expiresAt: Self.beginning)
        await bench.run { await bench.queue.wait { $0.recorded.count == 1 } }
        #expect(bench.deliveries().map(\.reason) == [.expired, .expired, .expired])
        #expect(bench.sender.batches.allSatisfy { $0.cancellation.cause == .expired })
        #expect(bench.recorded().allSatisfy { $0.retries.isEmpty })
    }

    @Test("sends what is in time, and nothing more from the very second on at which its time is over")
    func overMeanwhile() async throws {
        let bench = try WorkerBench(sender: ScriptedSender(isHolding: true))
        bench.enqueue(notification: 1, devices: 1...2, expiresAt: Self.beginning + 60)
        bench.enqueue(notification: 2, devices: 3...4, activityID: "other", expiresAt: Self.beginning + 3_600)
        try await bench.run {
            await bench.sender.wait(forBatches: 2)
            let batch = try #require(bench.sender.batches.first { $0.notification.rawValue == 1 })
            while bench.clock.fanOutClock.now().seconds < Self.beginning + 60 {
                #expect(!batch.cancellation.isCancelled)
                await Self.tick(bench)
            }
            while !batch.cancellation.isCancelled { await Self.tick(bench) }
            #expect(bench.clock.fanOutClock.now().seconds <= Self.beginning + 61)
            bench.sender.letGo()
            await bench.queue.wait { $0.recorded.count == 2 }
        }
        #expect(bench.deliveries().filter { $0.device <= 2 }.map(\.reason) == [.expired, .expired])
        #expect(bench.deliveries().filter { $0.device > 2 }.map(\.reason) == [.accepted, .accepted])
    }
}
