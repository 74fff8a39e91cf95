import Testing

@testable import Gateway

@Suite("Chunk outcome") struct ChunkOutcomeTests {
    private static func record(_ outcomes: [PushOutcome], keepsTokens: Bool = false, isSuperseded: Bool = false) -> ChunkRecord {
        var chunk = Chunk(
            id: ChunkID(notification: NotificationID(rawValue: 1), number: 0, epoch: 1), application: ApplicationID(rawValue: 1),
            isRetry: false)
        for index in outcomes.indices {
            chunk.devices.append(Int64(index) + 1)
            chunk.tokens.append([UInt8(truncatingIfNeeded: index), 7])
            chunk.services.append(PushEnvironment.production.rawValue)
        }
        let content = PushContent(
            event: .start, attributesType: "Match", attributes: Array("{}".utf8), contentState: Array("{}".utf8), alerts: [],
            sound: nil, staleDate: nil, dismissalDate: nil, relevanceScore: nil, priority: 10)
        let job = PushJob(
            notification: chunk.id.notification, application: WorkerBench.application(1), activityID: "match", content: content,
            timestamp: 1_800_000_000, expiresAt: 1_800_003_600)
        return ChunkOutcome(chunk: chunk, job: job, isSuperseded: isSuperseded, keepsTokens: keepsTokens)
            .record(outcomes, now: UnixMilliseconds(rawValue: 1_800_000_000_000)) { 0 }
    }

    private static let bad = PushOutcome.tokenDead(.badDeviceToken, since: nil)

    @Test(
        "keeps tokens that APNs calls wrong while the app's set-up is suspect",
        arguments: [DeliveryReason.badDeviceToken, .deviceTokenNotForTopic])
    func keepsTokens(reason: DeliveryReason) {
        let outcomes = [PushOutcome](repeating: .tokenDead(reason, since: nil), count: 3)
        let record = Self.record(outcomes, keepsTokens: true)
        #expect(record.deadTokens.isEmpty)
        #expect(record.deliveries.map(\.reason) == outcomes.map { _ in reason })
    }

    @Test("removes wrong tokens otherwise, and those that APNs knows to be gone in any case")
    func removesTokens() {
        #expect(Self.record([Self.bad, .accepted]).deadTokens.map(\.device) == [1])
        let gone = PushOutcome.tokenDead(.unregistered, since: UnixMilliseconds(rawValue: 1_000))
        #expect(Self.record([Self.bad, gone], keepsTokens: true).deadTokens.map(\.device) == [2])
    }

    @Test("notes a token that was sent too much, and until when it is left alone")
    func quietTokens() {
        let tooMany = PushOutcome.deferred(.tooManyRequests, delayMilliseconds: 60_000)
        let record = Self.record([.accepted, tooMany, .deferred(.serviceUnavailable, delayMilliseconds: 60_000)])
        let until = UnixMilliseconds(rawValue: 1_800_000_060_000)
        #expect(record.quietTokens == [QuietToken(device: 2, token: [1, 7], until: until)])
        #expect(record.retries.first { $0.device == 2 }?.notBefore == until)
        // Whether this push is tried again or not, and no longer than any push waits.
        let whole = PushOutcome.deferred(.tooManyRequests, delayMilliseconds: 86_400_000)
        let superseded = Self.record([whole], isSuperseded: true)
        #expect(superseded.deliveries.map(\.reason) == [.superseded])
        #expect(superseded.quietTokens.map(\.until.rawValue) == [1_800_000_000_000 + RetryPolicy.longestDelayMilliseconds])
    }

    @Test("lets tokens stay while APNs refuses the key")
    func keyRefused() {
        let refused = PushOutcome.deferred(.invalidProviderToken, delayMilliseconds: 60_000)
        let record = Self.record([refused, refused])
        #expect(record.deadTokens.isEmpty && record.retries.map(\.device) == [1, 2])
    }
}
