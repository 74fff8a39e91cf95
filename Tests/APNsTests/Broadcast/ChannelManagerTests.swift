import APNsSimulator
import Gateway
import HTTP
import Synchronization
import Testing

@testable import APNs

extension SenderTests.Broadcasts {
    @Suite("Channel manager", .timeLimit(.minutes(1))) struct Management {
        @Test("creates, reads, lists and deletes channels of either policy and environment")
        func manages() async throws {
            try await BroadcastRig.run { rig in
                guard case .done(let stored) = await rig.create(),
                    case .done(let other) = await rig.create(.nothing, in: .sandbox)
                else {
                    Issue.record("no channel was made")
                    return
                }
                #expect(rig.simulator.channels().map(\.identifier) == [stored, other])
                #expect(rig.simulator.channels().map(\.policy) == [.mostRecent, .none])
                #expect(rig.simulator.channels().map(\.environment) == [.production, .sandbox])
                #expect(await rig.list() == .done([stored]))
                #expect(
                    await rig.manager.policy(
                        ofChannel: other, of: SenderRig.application(), in: .sandbox, timeout: BroadcastRig.timeout)
                        == .done(.nothing))
                #expect(await rig.delete(stored) == .done(true))
                #expect(await rig.list() == .done([]))
                #expect(await rig.list(in: .sandbox) == .done([other]))
            }
        }

        @Test("takes a channel that is not there any more for deleted, in each of Apple's words")
        func deletesTwice() async throws {
            try await BroadcastRig.run { rig in
                let id = rig.channel()
                #expect(await rig.delete(id) == .done(true))
                #expect(await rig.delete(id) == .done(true))
                for reason in [Reason.channelNotRegistered, .badChannelID] {
                    rig.script(.delete, count: 1) { $0.answer = PushAnswer(reason) }
                    #expect(await rig.delete(rig.channel()) == .done(true))
                    rig.simulator.removeRules()
                }
            }
        }

        @Test("names its requests, so that one can be found again at Apple's")
        func namesRequests() async throws {
            try await BroadcastRig.run { rig in
                let request = UUID(high: 0x0123_4567_89AB_4DEF, low: 0x8123_4567_89AB_CDEF)
                _ = await rig.manager.createChannel(
                    .mostRecent, request: request, for: SenderRig.application(), in: .production, timeout: BroadcastRig.timeout)
                let recorded = try #require(rig.simulator.requests().first?.request)
                #expect(recorded.headers["apns-request-id"] == "\(request)")
                #expect(recorded.headers["apns-topic"] == nil)
            }
        }

        @Test(
            "knows what each refusal means",
            arguments: [
                ("BroadcastFeatureNotEnabled", 400, .refused(.notEnabled)), ("FeatureNotEnabled", 400, .refused(.notEnabled)),
                ("CannotCreateChannelConfig", 400, .refused(.full)),
                ("TopicMismatch", 403, .refused(.other(.topicMismatch))),
                ("BadRequestParams", 400, .refused(.other(.otherClientError))),
                ("TooManyRequests", 429, .refused(.later(.tooManyRequests, delayMilliseconds: 5_000))),
                ("InternalServerError", 500, .unclear("InternalServerError")),
                ("Service Unavailable", 503, .unclear("Service Unavailable")),
                ("Shutdown", 503, .refused(.later(.shutdown, delayMilliseconds: 5_000))),
            ] as [(String, Int, ChannelResult<String>)])
        func refusals(reason: String, status: Int, expected: ChannelResult<String>) async throws {
            try await BroadcastRig.run { rig in
                rig.script(.create) { $0.answer = PushAnswer(status: status, reason: reason) }
                #expect(await rig.create() == expected)
                #expect(rig.simulator.channels().isEmpty)
            }
        }

        @Test(
            "says that nothing is known of a request that Apple never answered, and that nothing happened where nothing was sent")
        func silence() async throws {
            try await BroadcastRig.run { rig in
                #expect(await rig.list() == .done([]))
                rig.script(.create, count: 1) { $0.isSilent = true }
                var result: ChannelResult<String>
                // On a busy machine its time may be over before it leaves.
                repeat {
                    result = await rig.create(timeout: .milliseconds(300))
                } while result == .refused(.notSent("no answer in time"))
                guard case .unclear = result else {
                    Issue.record("an unanswered request is said to be decided")
                    return
                }
                #expect(rig.simulator.channels().count == 1)
            }
            try await BroadcastRig.run(simulator: { $0.settings.takesManagement = false }) { rig in
                guard case .refused(.notSent) = await rig.create(timeout: .milliseconds(300)) else {
                    Issue.record("a request without a connection is said to have been sent")
                    return
                }
            }
        }

        @Test("reads a list of as many channels as an app may have")
        func longList() async throws {
            try await BroadcastRig.run { rig in
                let made = (0..<10_000).map { _ in rig.channel() }
                #expect(await rig.list() == .done(made))
                #expect(await rig.create() == .refused(.full))
            }
        }

        @Test("does not believe an answer that is not Apple's", arguments: ["", "{}", #"{"channels":[1]}"#])
        func strangeAnswers(body: String) async throws {
            try await BroadcastRig.run { rig in
                rig.script(.list) { $0.answer = PushAnswer(status: 200, body: Array(body.utf8)) }
                #expect(await rig.list() == .unclear("an answer with status 200 that is not understood"))
            }
        }

        @Test("renews a provider token that Apple calls expired, on a new connection")
        func renews() async throws {
            try await BroadcastRig.run { rig in
                rig.script(.list, count: 1) { $0.answer = PushAnswer(.expiredProviderToken) }
                #expect(await rig.list() == .done([]))
                let requests = rig.simulator.requests()
                #expect(requests.map(\.connection) == [1, 2])
            }
        }

        @Test("replaces its connections once for all the requests that Apple refuses on them")
        func replacesOnce() async throws {
            try await BroadcastRig.run { rig in
                #expect(await rig.list() == .done([]))
                rig.script(.list, count: 3) {
                    $0.answer = PushAnswer(.expiredProviderToken)
                    $0.isHeld = true
                }
                let results = await withTaskGroup(of: ChannelResult<[String]>.self) { group in
                    for _ in 0..<3 { group.addTask { await rig.list() } }
                    while rig.simulator.requests().count < 4 { await Task.yield() }
                    // One is sent again, on new connections, before the next is refused on the old ones.
                    for number in 1...3 {
                        await rig.simulator.release(upTo: 1)
                        while rig.simulator.requests().count < 4 + number { await Task.yield() }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                #expect(results == Array(repeating: .done([]), count: 3))
                #expect(Set(rig.simulator.requests().map(\.connection)) == [1, 2])
            }
        }

        @Test("waits, when it stops, for what is on connections that were replaced")
        func drainsReplaced() async throws {
            try await BroadcastRig.run { rig in
                #expect(await rig.list() == .done([]))
                rig.script(.list, count: 1) { $0.isHeld = true }
                async let held = rig.list()
                while rig.simulator.requests().count < 2 { await Task.yield() }
                rig.simulator.removeRules()
                rig.script(.list, count: 1) { $0.answer = PushAnswer(.expiredProviderToken) }
                #expect(await rig.list() == .done([]))
                let isDrained = Mutex(false)
                async let drained: Void = {
                    await rig.manager.drain(timeout: BroadcastRig.timeout)
                    isDrained.withLock { $0 = true }
                }()
                while await rig.list() == .done([]) {}
                for _ in 0..<1_000 { await Task.yield() }
                #expect(!isDrained.withLock { $0 })
                await rig.simulator.release()
                #expect(await held == .done([]))
                await drained
            }
        }

        @Test(
            "takes an identifier of up to 512 bytes, and understands no longer one",
            arguments: [(512, true), (513, false)])
        func longIdentifiers(byteCount: Int, isUnderstood: Bool) async throws {
            try await BroadcastRig.run { rig in
                let identifier = String(repeating: "x", count: byteCount)
                rig.script(.list) { $0.answer = PushAnswer(status: 200, body: Array(#"{"channels":["\#(identifier)"]}"#.utf8)) }
                let expected = ChannelResult<[String]>.unclear("an answer with status 200 that is not understood")
                #expect(await rig.list() == (isUnderstood ? .done([identifier]) : expected))
            }
        }

        @Test("waits for a provider token no longer than the request has time")
        func lateToken() async throws {
            try await BroadcastRig.run { rig in
                let gate = rig.vault.holdKey()
                #expect(await rig.list(timeout: .milliseconds(20)) == .refused(.notSent("no answer in time")))
                #expect(rig.simulator.requests().isEmpty)
                gate.finish()
                #expect(await rig.list() == .done([]))
            }
        }

        @Test("sends nothing without a signing key")
        func withoutKey() async throws {
            try await BroadcastRig.run(hasKey: false) { rig in
                guard case .refused(.later(.credentialsRefused, _)) = await rig.list() else {
                    Issue.record("a request was sent without a key")
                    return
                }
                #expect(rig.simulator.requests().isEmpty)
            }
        }
    }
}
