import Networking
import Observability
import Synchronization
import Testing

@testable import Gateway

/// A renderer whose bodies name the alert's language.
struct LanguageRenderer: PayloadRenderer {
    func render(_ content: PushContent, form: PayloadForm, timestamp: Int64, alert: LocalizedAlert?) -> [UInt8] {
        Array("\(timestamp) \(alert?.language ?? "silent")".utf8)
    }
}

/// A worker on a loop of its own, with everything around it under the test's control.
final class WorkerBench: Sendable {
    let loop: EventLoop
    let queue = ScriptedQueue()
    let journals: ScriptedJournals
    let sender: ScriptedSender
    let clock = ManualClock()
    let board = ProgressBoard()
    let jobs = ActiveJobs()
    let worker: FanOutWorker
    let application: Application

    init(
        sender: ScriptedSender = ScriptedSender(), limits: FanOutLimits = FanOutLimits(),
        journals: ScriptedJournals = ScriptedJournals()
    ) throws {
        loop = try EventLoop.start(name: "worker-test")
        self.sender = sender
        self.journals = journals
        application = Self.application(1)
        worker = FanOutWorker(
            executor: loop, queue: queue, journals: journals, sender: sender, renderer: LanguageRenderer(), board: board,
            jobs: jobs,
            clock: clock.fanOutClock, node: "test", limits: limits, logger: Logger(level: .error),
            counters: FanOutCounters(metrics: Metrics()),
            quarantine: TokenQuarantine(metrics: Metrics(), logger: Logger(level: .error)))
    }

    static func application(_ id: Int32) -> Application {
        Application(
            id: ApplicationID(rawValue: id), publicID: .random(), name: "app", bundleID: "com.example.app",
            providerKey: ProviderKey(teamID: "TEAM", keyID: "KEY"), defaultEnvironment: .production)
    }

    /// Makes a job and puts one chunk of it into the queue.
    @discardableResult func enqueue(
        notification: Int64 = 1, event: ActivityEvent = .update, devices: ClosedRange<Int64>, number: Int32 = 0,
        languages: [String] = [], application: Application? = nil, activityID: String = "match",
        expiresAt: Int64 = 1_800_003_600, prepare: (inout Chunk) -> Void = { _ in }
    ) -> ChunkID {
        let application = application ?? self.application
        let id = ChunkID(notification: NotificationID(rawValue: notification), number: number, epoch: 1)
        var chunk = Chunk(id: id, application: application.id, isRetry: false)
        for device in devices {
            chunk.devices.append(device)
            chunk.tokens.append([UInt8(truncatingIfNeeded: device), 7])
            chunk.services.append(PushEnvironment.production.rawValue)
        }
        prepare(&chunk)
        let content = PushContent(
            event: event, attributesType: nil, attributes: nil, contentState: Array("{}".utf8),
            alerts: languages.map { LocalizedAlert(language: $0, title: "t", body: nil) }, sound: nil, staleDate: nil,
            dismissalDate: nil, relevanceScore: nil, priority: 10)
        let job = PushJob(
            notification: id.notification, application: application, activityID: activityID, content: content,
            timestamp: 1_800_000_000, expiresAt: expiresAt)
        let ready = chunk
        queue.change { state in
            state.jobs[id.notification] = job
            state.chunks.append(ready)
        }
        worker.wake()
        return id
    }

    /// Runs the worker while `body` does, then stops it.
    func run(_ body: () async throws -> Void) async rethrows {
        let running = Task { [worker] in await worker.run() }
        defer { loop.stop() }
        do {
            try await body()
        } catch {
            await stop(running)
            throw error
        }
        await stop(running)
    }

    private func stop(_ running: Task<Void, Never>) async {
        sender.letGo()
        await worker.stop()
        await running.value
    }

    func recorded() -> [ChunkRecord] { queue.state.withLock { $0.recorded } }
    func deliveries() -> [DeliveryRecord] { recorded().flatMap(\.deliveries) }
}

@Suite("Fan-out worker", .timeLimit(.minutes(1))) struct FanOutWorkerTests {
    @Test("sends every device of every chunk once and records it once")
    func reachesEveryDeviceOnce() async throws {
        let bench = try WorkerBench()
        for number in 0..<20 {
            let first = Int64(number) * 50 + 1
            bench.enqueue(devices: first...(first + 49), number: Int32(number))
        }
        await bench.run { await bench.queue.wait { $0.recorded.count == 20 } }
        #expect(bench.sender.batches.flatMap(\.devices).sorted() == Array(1...1_000))
        #expect(bench.deliveries().map(\.device).sorted() == Array(1...1_000))
        #expect(bench.deliveries().allSatisfy { $0.reason == .accepted })
    }

    @Test("sends each device to its own service and in its own language")
    func separatesServicesAndLanguages() async throws {
        let bench = try WorkerBench()
        bench.enqueue(devices: 1...4, languages: ["en", "de", "pt-BR"]) { chunk in
            chunk.services = [0, 1, 0, 1]
            chunk.languages = ["de-AT", nil, "pt-br", "fr"]
        }
        await bench.run { await bench.queue.wait { $0.recorded.count == 1 } }
        let batches = bench.sender.batches.sorted { $0.service.rawValue < $1.service.rawValue }
        #expect(batches.map(\.devices) == [[1, 3], [2, 4]])
        #expect(batches[0].bodyIndexes == [1, 2])
        #expect(batches[1].bodyIndexes == [0, 0])
        #expect(batches[0].bodies[1] == Array("1800000000 de".utf8))
        #expect(bench.deliveries().map(\.device) == [1, 2, 3, 4])
    }

    @Test(
        "gives a device the text whose tag is nearest to its own",
        arguments: [
            ("zh-Hant-TW", 1), ("zh_Hant_TW", 1), ("zh-HANT", 1), ("zh-Hans-CN", 2), ("ZH", 2), ("pt-BR", 3), ("pt_br-x", 3),
            ("pt", 0), ("sr-Latn-RS", 0), ("-", 0), ("", 0),
        ] as [(String, UInt8)])
    func looksLanguagesUp(language: String, index: UInt8) async throws {
        let bench = try WorkerBench()
        bench.enqueue(devices: 1...1, languages: ["en", "zh-Hant", "zh", "pt_BR"]) { $0.languages = [language] }
        await bench.run { await bench.queue.wait { $0.recorded.count == 1 } }
        #expect(bench.sender.batches.map(\.bodyIndexes) == [[index]])
    }

    @Test("records the outcomes of chunks that end together in one transaction")
    func recordsTogether() async throws {
        let bench = try WorkerBench(sender: ScriptedSender(isHolding: true))
        for number in 0..<8 { bench.enqueue(devices: 1...3, number: Int32(number)) }
        await bench.run {
            await bench.sender.wait(forBatches: 8)
            // The clock stands still: the last chunk on its way ends the wait.
            bench.sender.letGo()
            await bench.queue.wait { $0.recorded.count == 8 }
        }
        #expect(bench.queue.state.withLock { $0.recordCalls } <= 2)
    }

    @Test(
        "records outcomes together with those of a chunk that is being claimed, and waits for that no longer than a moment",
        arguments: [false, true])
    func recordsWithTheNext(isAnswered: Bool) async throws {
        let bench = try WorkerBench(sender: ScriptedSender(isHolding: true))
        bench.enqueue(devices: 1...3)
        await bench.run {
            await bench.sender.wait(forBatches: 1)
            bench.queue.change { $0.isClaimHanging = true }
            bench.enqueue(devices: 4...6, number: 1)
            await bench.queue.wait { $0.claimed.count == 2 }
            bench.sender.letGo()
            while bench.clock.timeToNextWake != FanOutLimits().recordDelay, bench.recorded().isEmpty { await Task.yield() }
            #expect(bench.recorded().isEmpty)
            if isAnswered { bench.queue.answerClaims() } else { bench.clock.advance(by: FanOutLimits().recordDelay) }
            await bench.queue.wait { $0.recorded.count == (isAnswered ? 2 : 1) }
            bench.queue.answerClaims()
            await bench.queue.wait { $0.recorded.count == 2 }
        }
        #expect(bench.queue.state.withLock { $0.recordCalls } == (isAnswered ? 1 : 2))
    }

    @Test("reads a notification once for chunks that follow one another, and anew when none followed")
    func readsOnce() async throws {
        let bench = try WorkerBench(sender: ScriptedSender(isHolding: true))
        bench.enqueue(devices: 1...3)
        await bench.run {
            await bench.sender.wait(forBatches: 1)
            bench.queue.change { $0.isClaimHanging = true }
            bench.enqueue(devices: 4...6, number: 1)
            await bench.queue.wait { $0.claimed.count == 2 }
            bench.sender.letGo()
            while bench.clock.timeToNextWake != FanOutLimits().recordDelay { await Task.yield() }
            bench.queue.answerClaims()
            await bench.queue.wait { $0.recorded.count == 2 }
            #expect(bench.queue.state.withLock { $0.loadCount } == 1)
            let claims = bench.queue.state.withLock { $0.exclusions.count }
            bench.worker.wake()
            await bench.queue.wait { $0.exclusions.count > claims }
            bench.enqueue(devices: 7...9, number: 2)
            await bench.queue.wait { $0.recorded.count == 3 }
        }
        #expect(bench.queue.state.withLock { $0.loadCount } == 2)
    }

    @Test("stops what is unsent of an older state when a newer one is accepted")
    func yieldsToNewerState() async throws {
        let bench = try WorkerBench(sender: ScriptedSender(isHolding: true))
        bench.enqueue(devices: 1...3)
        await bench.run {
            await bench.sender.wait(forBatches: 1)
            bench.queue.change { $0.superseded = [NotificationID(rawValue: 1)] }
            bench.worker.wake()
            await bench.sender.waitForCancellation()
            bench.sender.letGo()
            await bench.queue.wait { $0.recorded.count == 1 }
        }
        #expect(bench.deliveries().map(\.reason) == [.superseded, .superseded, .superseded])
    }

    @Test("asks the database whether another daemon accepted a newer state before it sends")
    func asksForSupersession() async throws {
        let bench = try WorkerBench()
        bench.queue.change { $0.superseded = [NotificationID(rawValue: 1)] }
        bench.enqueue(devices: 1...2)
        await bench.run { await bench.queue.wait { $0.recorded.count == 1 } }
        #expect(bench.deliveries().map(\.reason) == [.superseded, .superseded])
    }

    @Test("sends a newer update, or the end, once the older update is answered, and not before")
    func keepsOrder() async throws {
        for event in [ActivityEvent.update, .end] {
            let bench = try WorkerBench(sender: ScriptedSender(isHolding: true))
            bench.enqueue(notification: 1, devices: 1...2)
            await bench.run {
                await bench.sender.wait(forBatches: 1)
                bench.enqueue(notification: 2, event: event, devices: 1...2)
                await bench.queue.wait { $0.claimed.count == 2 }
                bench.sender.letGo()
                await bench.queue.wait { $0.recorded.count == 2 }
            }
            #expect(bench.sender.events == ["sent 1", "answered 1", "sent 2", "answered 2"])
        }
    }

    @Test("waits at most half a second for an older update, and not for a start, another activity or its own chunks")
    func waitsWithinBounds() async throws {
        let bench = try WorkerBench(sender: ScriptedSender(isHolding: true))
        bench.enqueue(notification: 1, event: .start, devices: 1...2)
        bench.enqueue(notification: 2, devices: 1...2, activityID: "e\u{301}")
        bench.enqueue(notification: 3, devices: 1...2, activityID: "\u{E9}")
        bench.enqueue(notification: 3, devices: 3...4, number: 1, activityID: "\u{E9}")
        await bench.run {
            await bench.sender.wait(forBatches: 4)
            bench.enqueue(notification: 4, devices: 1...2, activityID: "\u{E9}")
            while bench.sender.batches.count < 5 {
                bench.clock.tick()
                await Task.yield()
            }
        }
        #expect(bench.sender.batches.count == 5)
    }

    @Test("stops at once although a notification cannot be read: it does not wait for the next try")
    func stopsWhileReadingFails() async throws {
        let bench = try WorkerBench()
        bench.queue.change { $0.failingLoads = .max }
        bench.enqueue(devices: 1...3)
        // The clock stands still: a pause that is not cut short never ends.
        await bench.run { await bench.queue.wait { $0.failingLoads < .max } }
        #expect(bench.sender.batches.isEmpty)
    }

    @Test("hands back what a drained sender did not send, without counting a try, and gives the lease back")
    func resumesLater() async throws {
        let bench = try WorkerBench(sender: ScriptedSender { _, index in index == 0 ? .accepted : .notSent })
        bench.enqueue(devices: 1...3)
        await bench.run { await bench.queue.wait { $0.recorded.count == 1 } }
        let record = try #require(bench.recorded().first)
        #expect(record.deliveries.map(\.device) == [1])
        #expect(record.retries.map(\.device) == [2, 3])
        #expect(record.retries.allSatisfy { $0.attempt == 0 })
        #expect(bench.queue.state.withLock { $0.isReleased })
    }

    @Test("keeps outcomes until the database takes them, once")
    func survivesFailingRecords() async throws {
        let bench = try WorkerBench()
        bench.queue.change { $0.failingRecords = 3 }
        bench.enqueue(devices: 1...3)
        await bench.run {
            for call in 1...3 {
                await bench.queue.wait { $0.recordCalls >= call }
                while bench.queue.state.withLock({ $0.recordCalls }) == call {
                    bench.clock.tick(); await Task.yield()
                }
            }
            await bench.queue.wait { !$0.recorded.isEmpty }
        }
        #expect(bench.deliveries().map(\.device) == [1, 2, 3])
        #expect(bench.sender.batches.count == 1)
    }

    @Test("reads what to send again after a failure instead of dropping the chunk")
    func survivesFailingLoads() async throws {
        let bench = try WorkerBench()
        bench.queue.change { $0.failingLoads = 1 }
        bench.enqueue(devices: 1...3)
        await bench.run {
            while bench.recorded().isEmpty { bench.clock.tick(); await Task.yield() }
        }
        #expect(bench.deliveries().map(\.device) == [1, 2, 3])
    }

    @Test("gives back chunks whose claim was not answered, but none that it holds")
    func givesBackUnansweredClaims() async throws {
        let bench = try WorkerBench(sender: ScriptedSender(isHolding: true))
        let held = bench.enqueue(devices: 1...3)
        await bench.run {
            await bench.sender.wait(forBatches: 1)
            bench.queue.change { $0.failingClaims = 1 }
            bench.worker.wake()
            while bench.queue.state.withLock({ $0.givenBack.isEmpty }) {
                bench.clock.tick(); await Task.yield()
            }
        }
        #expect(bench.queue.state.withLock { $0.givenBack.first } == [held])
    }

    @Test("gives back again what an unanswered claim may commit late, for as long as a lease lasts")
    func givesBackLateClaims() async throws {
        let bench = try WorkerBench()
        bench.queue.change { $0.failingClaims = 1 }
        await bench.run {
            func claimAgain() async {
                let claims = bench.queue.state.withLock { $0.exclusions.count }
                // More than once: the lease may have to be extended first.
                while bench.queue.state.withLock({ $0.exclusions.count <= claims }), !Task.isCancelled {
                    bench.worker.wake(); await Task.yield()
                }
            }
            for _ in 0..<3 { await claimAgain() }
            #expect(bench.queue.state.withLock { $0.givenBack.count } >= 3)
            bench.clock.advance(by: .seconds(15))
            for _ in 0..<2 { await claimAgain() }
            let count = bench.queue.state.withLock { $0.givenBack.count }
            for _ in 0..<2 { await claimAgain() }
            #expect(bench.queue.state.withLock { $0.givenBack.count } == count)
        }
    }

    @Test("gives back what it claimed and never sent when it stops, before it gives up its lease")
    func givesBackUnsentAtStop() async throws {
        let bench = try WorkerBench()
        bench.queue.change { $0.failingLoads = .max }
        bench.enqueue(event: .start, devices: 1...3)
        await bench.run {
            await bench.queue.wait { $0.claimed.count == 1 && $0.failingLoads < .max }
            await bench.worker.stop()
            while bench.queue.state.withLock({ !$0.isReleased }) {
                bench.clock.tick(); await Task.yield()
            }
        }
        #expect(bench.queue.state.withLock { $0.givenBack } == [[]])
        #expect(bench.recorded().isEmpty && bench.sender.batches.isEmpty)
    }

    @Test("stops what another daemon's newer state supersedes as soon as it is woken")
    func yieldsToOtherDaemons() async throws {
        let bench = try WorkerBench(sender: ScriptedSender(isHolding: true))
        let chunk = bench.enqueue(devices: 1...3)
        try await bench.run {
            await bench.sender.wait(forBatches: 1)
            let cancellation = try #require(bench.sender.batches.first?.cancellation)
            bench.queue.change { $0.superseded = [chunk.notification] }
            bench.worker.wake()
            while !cancellation.isCancelled, !Task.isCancelled { await Task.yield() }
            #expect(cancellation.cause == .superseded)
        }
    }

    @Test("stops sending before its lease runs out also while the database does not answer at all")
    func obeysExpiringLeaseOfSilentDatabase() async throws {
        let bench = try WorkerBench(sender: ScriptedSender(isHolding: true))
        bench.enqueue(devices: 1...3)
        try await bench.run {
            await bench.sender.wait(forBatches: 1)
            let cancellation = try #require(bench.sender.batches.first?.cancellation)
            bench.queue.change { $0.isHanging = true }
            while !cancellation.isCancelled, !Task.isCancelled {
                bench.clock.tick()
                for _ in 0..<100 { await Task.yield() }
            }
            #expect(cancellation.cause == .leaseExpired)
            bench.queue.answerExtensions()
        }
    }

    @Test("stops sending and registers afresh when its lease is lost")
    func obeysLostLease() async throws {
        let bench = try WorkerBench(sender: ScriptedSender(isHolding: true))
        bench.enqueue(devices: 1...3)
        await bench.run {
            await bench.sender.wait(forBatches: 1)
            bench.queue.change { $0.isLeaseLost = true }
            while bench.queue.state.withLock({ $0.registeredWorkers < 2 }) {
                bench.clock.tick(); await Task.yield()
            }
        }
        #expect(bench.sender.batches.first?.cancellation.cause == .leaseExpired)
        #expect(bench.recorded().flatMap(\.retries).map(\.device) == [1, 2, 3])
        // As long as nobody took the chunk, what became of it is known best by the one that claimed it.
        #expect(bench.queue.state.withLock { $0.recordingWorkers } == [WorkerID(rawValue: 1)])
    }

    @Test("stops sending before a lease it cannot extend runs out")
    func obeysExpiringLease() async throws {
        let bench = try WorkerBench(sender: ScriptedSender(isHolding: true))
        bench.enqueue(devices: 1...3)
        await bench.run {
            await bench.sender.wait(forBatches: 1)
            bench.queue.change { $0.isAway = true }
            var elapsed = 0
            while bench.sender.batches.first?.cancellation.isCancelled == false {
                bench.clock.tick()
                elapsed += 1
                for _ in 0..<100 { await Task.yield() }
                guard elapsed < 1_000 else { break }
            }
            #expect(bench.sender.batches.first?.cancellation.cause == .leaseExpired)
        }
    }

    @Test("leaves room for other apps when one app's pushes hang")
    func leavesRoom() async throws {
        let sender = ScriptedSender(isHolding: true)
        let bench = try WorkerBench(sender: sender)
        let share = FanOutLimits().openChunkCountPerApplication
        for number in 0..<share * 2 { bench.enqueue(devices: 1...2, number: Int32(number)) }
        await bench.run {
            await sender.wait(forBatches: share)
            bench.enqueue(notification: 9, devices: 1...2, application: WorkerBench.application(2))
            await sender.wait(forBatches: share + 1)
        }
        #expect(sender.batches[..<share].allSatisfy { $0.application.id.rawValue == 1 })
        #expect(sender.batches[share].application.id.rawValue == 2)
    }

    @Test("tells a waiting caller of the first acceptance before anything is recorded")
    func announcesFirstAcceptance() async throws {
        let bench = try WorkerBench()
        let notification = NotificationID(rawValue: 1)
        bench.board.open(notification)
        bench.queue.change { $0.failingRecords = .max }
        bench.enqueue(devices: 1...3)
        await bench.run {
            let message = await bench.board.nextMessage(about: notification) { await bench.clock.fanOutClock.sleep(.seconds(5)) }
            #expect(message == .accepted)
            bench.queue.change { $0.failingRecords = 0 }
            while bench.recorded().isEmpty { bench.clock.tick(); await Task.yield() }
        }
    }
}
