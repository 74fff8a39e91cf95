import Synchronization
import Testing

@testable import Gateway

@Suite("Open chunks") struct OpenChunksTests {
    private static func app(_ number: Int) -> ApplicationID { ApplicationID(rawValue: Int32(number)) }

    /// Claims for each app in turn as much as it may have, and tells how much each got.
    private static func fill(_ chunks: inout OpenChunks, apps: ClosedRange<Int>, limits: FanOutLimits) -> [Int] {
        apps.map { number in
            var count = 0
            while chunks.count < limits.openChunkCount, !chunks.fullApplications.contains(app(number)) {
                chunks.open(app(number))
                count += 1
            }
            return count
        }
    }

    @Test("of an app that is alone leave a quarter free, and of two that hang some for a third")
    func shares() {
        let limits = FanOutLimits()
        var chunks = OpenChunks(limits)
        #expect(Self.fill(&chunks, apps: 1...1, limits: limits) == [24])
        #expect(Self.fill(&chunks, apps: 2...3, limits: limits) == [6, 2])
        chunks = OpenChunks(limits)
        // Two that come together share, and a third finds room.
        for _ in 0..<32 {
            for number in [1, 2] where !chunks.fullApplications.contains(Self.app(number)) { chunks.open(Self.app(number)) }
        }
        #expect(chunks.count < limits.openChunkCount - 2)
        #expect(Self.fill(&chunks, apps: 3...3, limits: limits)[0] >= 2)
    }

    @Test("of apps that are down are one of each, and eight in all")
    func down() {
        let limits = FanOutLimits()
        var chunks = OpenChunks(limits)
        for number in 1...20 { chunks.notice(.down, of: Self.app(number)) }
        let held = Self.fill(&chunks, apps: 1...20, limits: limits)
        #expect(held == [Int](repeating: 1, count: 8) + [Int](repeating: 0, count: 12))
        #expect(Self.fill(&chunks, apps: 21...21, limits: limits) == [18])
        // The first to be served again is full no more; a chunk that was not sent says nothing.
        chunks.notice(.none, of: Self.app(2))
        chunks.notice(.serving, of: Self.app(1))
        #expect(!chunks.fullApplications.contains(Self.app(1)))
        #expect(chunks.fullApplications.contains(Self.app(2)))
        chunks.close(Self.app(2))
        #expect(!chunks.fullApplications.contains(Self.app(20)))
    }

    @Test("say that an app is down when nothing of a chunk was taken or judged, and something was turned away")
    func signs() {
        let away = PushOutcome.deferred(.serviceUnavailable, delayMilliseconds: 1)
        #expect(ServiceSign([away, away]) == .down)
        #expect(ServiceSign([away, .notSent, .unknown]) == .down)
        #expect(ServiceSign([away, .accepted]) == .serving)
        #expect(ServiceSign([away, .tokenDead(.badDeviceToken, since: nil)]) == .serving)
        #expect(ServiceSign([away, .rejected(.badTopic)]) == .serving)
        #expect(ServiceSign([.deferred(.tooManyRequests, delayMilliseconds: 1)]) == .serving)
        #expect(ServiceSign([.notSent, .unknown]) == .none && ServiceSign([]) == .none)
    }
}

extension FanOutWorkerTests {
    @Test("leaves the chunks of an app whose push service is down in the database, but for one at a time, until it is back")
    func probesWhatIsDown() async throws {
        // The first chunk finds the service down, and the next one finds it back.
        let sender = ScriptedSender { batch, index in
            batch.devices[index] == 1 ? .deferred(.connectionFailed, delayMilliseconds: 15_000) : .accepted
        }
        let bench = try WorkerBench(sender: sender)
        bench.enqueue(devices: 1...1)
        await bench.run {
            await bench.queue.wait { $0.recorded.count == 1 }
            sender.hold()
            for number in 1...5 { bench.enqueue(devices: 2...3, number: Int32(number)) }
            let application = bench.application.id
            await bench.queue.wait { $0.chunks.count < 5 && $0.exclusions.last == [application] }
            #expect(bench.queue.state.withLock { $0.claimed.count } == 2)
            sender.letGo()
            while bench.recorded().count < 6 { bench.clock.tick(); await Task.yield() }
        }
        #expect(bench.recorded().flatMap(\.retries).map(\.device) == [1])
        #expect(bench.deliveries().count == 10)
    }

    @Test("serves an app while the pushes of two others hang, however many chunks they have")
    func servesBesideTwoThatHang() async throws {
        let sender = ScriptedSender(isHolding: true)
        let bench = try WorkerBench(sender: sender)
        for number in 0..<40 {
            for app in [1, 2] {
                bench.enqueue(
                    notification: Int64(app), devices: 1...2, number: Int32(number),
                    application: WorkerBench.application(Int32(app)), activityID: "\(app)")
            }
        }
        let limit = FanOutLimits().openChunkCount
        await bench.run {
            // Until it finds nothing that it may claim.
            await bench.queue.wait { !$0.chunks.isEmpty && $0.exclusions.last?.count == 2 }
            #expect(bench.queue.state.withLock { $0.claimed.count } < limit)
            bench.enqueue(
                notification: 9, devices: 1...2, application: WorkerBench.application(3), activityID: "3")
            while !sender.batches.contains(where: { $0.application.id.rawValue == 3 }) { await Task.yield() }
        }
    }

    @Test("sends nothing of a claim that was answered when the lease had run out, and gives it back")
    func distrustsLateClaims() async throws {
        let bench = try WorkerBench()
        bench.queue.change { $0.isClaimHanging = true }
        bench.enqueue(event: .start, devices: 1...3)
        await bench.run {
            await bench.queue.wait { $0.claimed.count == 1 }
            // The database answers nothing, the lease included.
            bench.queue.change { $0.isHanging = true }
            bench.clock.advance(by: .seconds(13))
            while bench.queue.state.withLock({ $0.hanging.isEmpty || $0.hangingClaims.isEmpty }) {
                bench.worker.wake()
                await Task.yield()
            }
            bench.queue.answerClaims()
            // Beside the recorder and the watch of the lease, the worker sleeps as soon as it knows that it may not claim.
            while bench.clock.sleeperCount < 3 { await Task.yield() }
            bench.queue.answerExtensions()
            while bench.queue.state.withLock({ $0.givenBack.isEmpty }), bench.sender.batches.isEmpty {
                bench.clock.tick()
                await Task.yield()
            }
        }
        #expect(bench.queue.state.withLock { $0.givenBack.first } == [])
        #expect(bench.sender.batches.isEmpty && bench.recorded().isEmpty)
    }
}
