import Testing

@testable import Gateway

@Suite("Chunk outcome") struct ChunkOutcomeTests {
    private static func record(_ outcomes: [PushOutcome]) -> ChunkRecord {
        var chunk = Chunk(
            id: ChunkID(notification: NotificationID(rawValue: 1), number: 0, epoch: 1), application: ApplicationID(rawValue: 1),
            isRetry: false)
        for index in outcomes.indices {
            chunk.devices.append(Int64(index) + 1)
            chunk.tokens.append([UInt8(truncatingIfNeeded: index), 7])
            chunk.environments.append(PushEnvironment.production.rawValue)
        }
        let content = PushContent(
            event: .start, attributesType: "Match", attributes: Array("{}".utf8), contentState: Array("{}".utf8), alerts: [],
            sound: nil, staleDate: nil, dismissalDate: nil, relevanceScore: nil, priority: 10)
        let job = PushJob(
            notification: chunk.id.notification, application: WorkerBench.application(1), activityID: "match", content: content,
            timestamp: 1_800_000_000, expiresAt: 1_800_003_600)
        return ChunkOutcome(chunk: chunk, job: job, isSuperseded: false)
            .record(outcomes, now: UnixMilliseconds(rawValue: 1_800_000_000_000)) { 0 }
    }

    private static let bad = PushOutcome.tokenDead(.badDeviceToken, since: nil)

    @Test(
        "keeps the tokens when APNs calls every one of many wrong, as it does under a wrong bundle id or environment",
        arguments: [DeliveryReason.badDeviceToken, .deviceTokenNotForTopic])
    func keepsTokens(reason: DeliveryReason) {
        let outcomes = [PushOutcome](repeating: .tokenDead(reason, since: nil), count: ChunkOutcome.suspiciousRefusalCount)
        let record = Self.record(outcomes)
        #expect(record.deadTokens.isEmpty)
        #expect(record.deliveries.map(\.reason) == outcomes.map { _ in reason })
    }

    @Test("removes wrong tokens when one push was accepted, when they are few, and those that APNs knows to be gone")
    func removesTokens() {
        let many = [PushOutcome](repeating: Self.bad, count: ChunkOutcome.suspiciousRefusalCount)
        #expect(Self.record(many + [.accepted]).deadTokens.count == many.count)
        #expect(Self.record(Array(many.dropFirst())).deadTokens.count == many.count - 1)
        let gone = PushOutcome.tokenDead(.unregistered, since: UnixMilliseconds(rawValue: 1_000))
        #expect(Self.record(many + [gone]).deadTokens.map(\.device) == [Int64(many.count) + 1])
    }
}
