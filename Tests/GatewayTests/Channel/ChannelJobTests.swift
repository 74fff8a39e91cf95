import Testing

@testable import Gateway

@Suite("Pushes of an activity with channels") struct ChannelJobTests {
    private static let production = ActivityChannel(environment: .production, identifier: "p1", policy: .mostRecent)
    private static let fleeting = ActivityChannel(environment: .sandbox, identifier: "s1", policy: .nothing)

    private static func job(_ event: ActivityEvent, channels: [ActivityChannel] = [production, fleeting]) -> PushJob {
        let content = PushContent(
            event: event, attributesType: "A", attributes: nil, contentState: [], alerts: [], sound: nil, staleDate: nil,
            dismissalDate: nil, relevanceScore: nil, priority: 10)
        return PushJob(
            notification: NotificationID(rawValue: 1), application: ChannelPlanTests.application(), activityID: "m",
            content: content, variants: event == .start ? [PushVariant(), PushVariant(joinsChannel: true)] : [PushVariant()],
            channels: channels, timestamp: 1_800_000_000, expiresAt: 1_800_003_600)
    }

    private static func chunk(_ recipients: [(device: Int64, service: PushService, variant: UInt8)], isStart: Bool) -> Chunk {
        var chunk = Chunk(
            id: ChunkID(notification: NotificationID(rawValue: 1), number: 0, epoch: 1), application: ApplicationID(rawValue: 1),
            isRetry: false)
        for (device, service, variant) in recipients {
            chunk.devices.append(device)
            chunk.tokens.append([1])
            chunk.services.append(service.rawValue)
            if isStart { chunk.variants.append(variant) }
        }
        return chunk
    }

    /// Writes the form it is asked for.
    private struct FormRenderer: PayloadRenderer {
        func render(_ content: PushContent, form: PayloadForm, timestamp: Int64, alert: LocalizedAlert?) -> [UInt8] {
            Array("\(form.service) \(form.channelID ?? "-")".utf8)
        }
    }

    private static let starts: [(device: Int64, service: PushService, variant: UInt8)] = [
        (1, .apnsProduction, 0), (2, .apnsProduction, 1), (3, .apnsSandbox, 1), (4, .fcmToAPNs, 1),
    ]

    @Test("name the channel of the device's environment in its start, and nothing where FCM carries it")
    func starts() {
        let active = ActiveJob(job: Self.job(.start), renderer: FormRenderer())
        let batches = active.batches(of: Self.chunk(Self.starts, isStart: true)) {}
        #expect(batches.map(\.batch.devices) == [[1], [2], [3], [4]])
        #expect(
            batches.map { String(decoding: $0.batch.bodies[0], as: UTF8.self) }
                == ["apnsProduction -", "apnsProduction p1", "apnsSandbox s1", "fcmToAPNs -"])
    }

    @Test("are asked for update tokens where the environment has no channel")
    func withoutChannel() {
        let active = ActiveJob(job: Self.job(.start, channels: [Self.production]), renderer: FormRenderer())
        let batches = active.batches(of: Self.chunk([Self.starts[2]], isStart: true)) {}
        #expect(batches.map { String(decoding: $0.batch.bodies[0], as: UTF8.self) } == ["apnsSandbox -"])
    }

    @Test("are recorded by the way the device went")
    func records() {
        let record = ChunkOutcome(
            chunk: Self.chunk(Self.starts, isStart: true), job: Self.job(.start), isSuperseded: false, keepsTokens: false
        )
        .record(
            [.accepted, .accepted, .rejected(.payloadTooLarge), .accepted], now: UnixMilliseconds(rawValue: 1_800_000_000_000)
        ) { 0 }
        #expect(record.deliveries.map(\.reason) == [.accepted, .acceptedForChannel, .payloadTooLarge, .accepted])
        #expect(DeliveryReason.acceptedForChannel.tally == .accepted)
    }

    @Test("expire as Apple asks by the storage of the channel")
    func expirations() {
        let active = ActiveJob(job: Self.job(.update), renderer: FormRenderer())
        let updates: [(device: Int64, service: PushService, variant: UInt8)] = [
            (-2, .broadcastSandbox, 0), (-1, .broadcastProduction, 0), (1, .apnsProduction, 0),
        ]
        let batches = active.batches(of: Self.chunk(updates, isStart: false)) {}
        #expect(batches.map(\.batch.expiresAt) == [0, 1_800_003_600, 1_800_003_600])
    }

    @Test("leave marks that tell the way after a crash")
    func marks() {
        let mark = PushMark(rawValue: DeliveryReason.acceptedForChannel.rawValue)
        let policy = RetryPolicy(event: .start, expiresAt: UnixMilliseconds(rawValue: 2))
        let decision = mark.outcome.map {
            policy.decide($0, attempt: 0, isSuperseded: false, now: UnixMilliseconds(rawValue: 1), jitter: 0)
        }
        #expect(decision == .final(.acceptedForChannel))
    }
}
