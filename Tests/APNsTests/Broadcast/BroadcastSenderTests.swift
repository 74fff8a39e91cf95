import APNsSimulator
import Gateway
import HTTP
import Synchronization
import Testing

@testable import APNs

extension SenderTests.Broadcasts {
    @Suite("Broadcast sender", .timeLimit(.minutes(1))) struct Publishing {
        @Test("reaches a million subscribers with one request, under the app's bundle identifier")
        func publishes() async throws {
            try await BroadcastRig.run { rig in
                let id = rig.channel()
                #expect(rig.simulator.subscribe(count: 1_000_000, to: id))
                let told = Mutex(0)
                let batch = BroadcastRig.batch(id, onFirstAccepted: { told.withLock { $0 += 1 } })
                #expect(await rig.sender.send(batch) == [.accepted])
                #expect(told.withLock { $0 } == 1)
                #expect(rig.simulator.channels().map(\.deliveryCount) == [1_000_000])
                let recorded = try #require(rig.simulator.requests().first)
                #expect(recorded.reading.shapeErrors.isEmpty)
                let request = try #require(recorded.request)
                #expect(request.target == "/4/broadcasts/apps/\(SenderRig.bundleID)")
                #expect(
                    request.headers.map(\.name).filter { $0.hasPrefix("apns-") } == [
                        "apns-channel-id", "apns-request-id", "apns-push-type", "apns-priority", "apns-expiration",
                    ])
                #expect(request.headers["apns-request-id"] == "\(UUID.ofPush(notification: batch.notification, device: -1))")
                #expect(request.headers["apns-expiration"] == "4000000000")
            }
        }

        @Test(
            "knows what each answer means for the push and for the channel",
            arguments: [
                ("ChannelNotRegistered", 400, .tokenDead(.channelNotRegistered, since: nil)),
                ("ChannelNotRegistered", 410, .tokenDead(.channelNotRegistered, since: nil)),
                ("BadChannelId", 400, .rejected(.badChannelID)), ("MissingChannelId", 400, .rejected(.missingChannelID)),
                ("BroadcastFeatureNotEnabled", 400, .rejected(.broadcastFeatureNotEnabled)),
                ("FeatureNotEnabled", 400, .rejected(.broadcastFeatureNotEnabled)),
                ("TopicMismatch", 403, .rejected(.topicMismatch)), ("TopicDisallowed", 400, .rejected(.topicDisallowed)),
                ("BadExpirationDate", 400, .rejected(.badExpirationDate)),
                ("PayloadTooLarge", 413, .rejected(.payloadTooLarge)),
                ("MissingPushType", 400, .rejected(.missingPushType)), ("Surprise", 400, .rejected(.otherClientError)),
                ("TooManyRequests", 429, .deferred(.tooManyRequests, delayMilliseconds: 5_000)),
                ("InternalServerError", 500, .deferred(.internalServerError, delayMilliseconds: 5_000)),
                ("Service Unavailable", 503, .deferred(.serviceUnavailable, delayMilliseconds: 5_000)),
            ] as [(String, Int, PushOutcome)])
        func answers(reason: String, status: Int, expected: PushOutcome) async throws {
            try await BroadcastRig.run { rig in
                let id = rig.channel()
                rig.script(.publish) { $0.answer = PushAnswer(status: status, reason: reason) }
                #expect(await rig.sender.send(BroadcastRig.batch(id)) == [expected])
                let isAboutSetUp = ["TopicMismatch", "TopicDisallowed", "BroadcastFeatureNotEnabled", "FeatureNotEnabled"]
                    .contains(reason)
                #expect(rig.log.contains("set-up for broadcast channels") == isAboutSetUp)
            }
        }

        @Test("takes another connection when a provider token was called expired, be it in the other environment")
        func expiredElsewhere() async throws {
            try await BroadcastRig.run { rig in
                let id = rig.channel()
                let sandboxID = rig.simulator.makeChannel(
                    bundleID: SenderRig.bundleID, environment: .sandbox, policy: .mostRecent)
                let batches = [BroadcastRig.batch(id), BroadcastRig.batch(sandboxID, environment: .sandbox)]
                for batch in batches { #expect(await rig.sender.send(batch) == [.accepted]) }
                rig.script(.publish, count: 1) { $0.answer = PushAnswer(.expiredProviderToken) }
                for batch in batches { #expect(await rig.sender.send(batch) == [.accepted]) }
                #expect(rig.simulator.requests().map(\.connection) == [1, 2, 1, 3, 4])
                #expect(rig.vault.state.withLock { $0.replacementCount } == 2)
            }
        }

        @Test("does not hold against a newer provider token what Apple refuses where it called an older one expired")
        func expiredOnCommonConnection() async throws {
            let clock = SteppableClock()
            try await BroadcastRig.run(clock: clock.clock) { rig in
                let batch = BroadcastRig.batch(rig.channel())
                #expect(await rig.sender.send(batch) == [.accepted])
                rig.script(.publish, count: 1) {
                    $0.answer = PushAnswer(.expiredProviderToken)
                    $0.isHeld = true
                }
                rig.simulator.script(
                    .does { $0.isHeld = true },
                    when: .when {
                        $0.providerToken = 2
                        $0.count = 1
                    })
                async let older = rig.sender.send(batch)
                #expect(await rig.simulator.waitForRequests(2).count == 2)
                clock.step(-600)
                async let newer = rig.sender.send(batch)
                #expect(await rig.simulator.waitForRequests(3).map(\.connection) == [1, 1, 1])
                await rig.simulator.release()
                #expect(await older == [.accepted])
                #expect(await newer == [.accepted])
                #expect(rig.vault.state.withLock { $0.replacementCount } == 2)
            }
        }

        @Test("says that a channel is gone, and sends nothing in vain to one that keeps nothing")
        func policies() async throws {
            try await BroadcastRig.run { rig in
                let fleeting = rig.channel(.none)
                #expect(await rig.sender.send(BroadcastRig.batch(fleeting)) == [.rejected(.badExpirationDate)])
                #expect(await rig.sender.send(BroadcastRig.batch(fleeting, expiresAt: 0)) == [.accepted])
                rig.simulator.deleteChannel(fleeting)
                #expect(
                    await rig.sender.send(BroadcastRig.batch(fleeting, expiresAt: 0))
                        == [.tokenDead(.channelNotRegistered, since: nil)])
            }
        }

        @Test("takes 5,120 bytes")
        func largeBody() async throws {
            try await BroadcastRig.run { rig in
                let id = rig.channel()
                let empty = BroadcastRig.batch(id, bodyByteCount: 0).bodies[0].count
                #expect(await rig.sender.send(BroadcastRig.batch(id, bodyByteCount: 5_120 - empty)) == [.accepted])
                #expect(
                    await rig.sender.send(BroadcastRig.batch(id, bodyByteCount: 5_121 - empty))
                        == [.rejected(.payloadTooLarge)])
            }
        }

        @Test("does not know what became of a push that was never answered")
        func silence() async throws {
            try await BroadcastRig.run({ $0.answerTimeout = .milliseconds(500) }) { rig in
                let id = rig.channel()
                rig.script(.publish, count: 1) { $0.isSilent = true }
                #expect(await rig.sender.send(BroadcastRig.batch(id)) == [.unknown])
                #expect(await rig.sender.send(BroadcastRig.batch(id)) == [.accepted])
            }
        }

        @Test("sends a push again that was provably not processed")
        func refusedStream() async throws {
            try await BroadcastRig.run { rig in
                let id = rig.channel()
                // REFUSED_STREAM, RFC 9113.
                rig.script(.publish, count: 1) { $0.resetCode = 7 }
                #expect(await rig.sender.send(BroadcastRig.batch(id)) == [.accepted])
                #expect(rig.simulator.requests().count == 2)
            }
        }

        @Test("puts a push off while APNs cannot be reached")
        func unreachable() async throws {
            try await BroadcastRig.run({ $0.answerTimeout = .milliseconds(300) }) { rig in
                try await rig.simulator.changeSettings { $0.listens = false }
                let outcomes = await rig.sender.send(BroadcastRig.batch("AAAA"))
                #expect(outcomes == [.deferred(.connectionFailed, delayMilliseconds: 1_000)])
            }
        }

        @Test("keeps a push back that a newer state replaced, and all once it stops")
        func cancellation() async throws {
            try await BroadcastRig.run { rig in
                let id = rig.channel()
                let cancellation = Cancellation()
                cancellation.cancel(.superseded)
                #expect(await rig.sender.send(BroadcastRig.batch(id, cancellation: cancellation)) == [.notSent])
                await rig.sender.stopSubmitting()
                #expect(await rig.sender.send(BroadcastRig.batch(id)) == [.notSent])
                #expect(rig.simulator.requests().isEmpty)
            }
        }

        @Test("marks a push before it can leave, and what became of it")
        func marks() async throws {
            try await BroadcastRig.run { rig in
                let page = ListedMarks()
                var batch = BroadcastRig.batch(rig.channel())
                batch.marks = PushMarks(page: page, first: 3)
                #expect(await rig.sender.send(batch) == [.accepted])
                #expect(page.all == [ListedMark(3, .submitted), ListedMark(3, PushMark(.accepted))])
            }
        }
    }
}

/// A mark and where it was made.
private struct ListedMark: Equatable {
    let index: Int
    let mark: PushMark
    init(_ index: Int, _ mark: PushMark) {
        self.index = index
        self.mark = mark
    }
}

/// A page that lists its marks.
private final class ListedMarks: JournalPage {
    private let marks = Mutex<[ListedMark]>([])
    var all: [ListedMark] { marks.withLock { $0 } }
    func mark(_ index: Int, _ mark: PushMark) { marks.withLock { $0.append(ListedMark(index, mark)) } }
    func close() {}
}
