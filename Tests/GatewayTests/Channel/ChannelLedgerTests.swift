import Testing

@testable import Gateway

@Suite("Channel ledger", .timeLimit(.minutes(1))) struct ChannelLedgerTests {
    let rig = KeeperRig()
    var ledger: ChannelLedger {
        ChannelLedger(base: rig.apple, keeper: rig.keeper, clock: rig.clock, logger: rig.logger, metrics: rig.metrics)
    }

    static func start(instance: InstanceMark? = nil) -> StartCommand {
        let content = PushContent(
            event: .start, attributesType: "A", attributes: [], contentState: [], alerts: [], sound: nil, staleDate: nil,
            dismissalDate: nil, relevanceScore: nil, priority: 10, instance: instance)
        return StartCommand(
            activityID: "m", activityType: "A", name: "n", audience: .segments(included: ["All"], excluded: []), content: content,
            idempotency: nil)
    }

    private func isAccepted(_ start: StartCommand = start(), isOn: Bool = true) async throws -> Bool {
        guard case .accepted = try await ledger.accept(start, application: ChannelPlanTests.application(isOn: isOn)) else {
            return false
        }
        return true
    }

    @Test("takes channels for starts of apps that are switched on, and for no other")
    func demands() async throws {
        #expect(try await isAccepted(isOn: false))
        let mark = InstanceMark(
            instance: InstanceID(UUID(high: 1, low: 1)), delivery: InstanceID(UUID(high: 1, low: 2)),
            notificationType: "n", deepLink: nil)
        #expect(try await isAccepted(Self.start(instance: mark)))
        #expect(rig.apple.with { $0.demands }.isEmpty)
        #expect(rig.apple.with { $0.plainStarts } == 2)
        #expect(try await isAccepted())
        #expect(rig.apple.with { $0.demands } == [.required])
    }

    @Test("makes the channels that are lacking, in each environment, before it accepts")
    func makes() async throws {
        rig.apple.with {
            $0.starts = [.lacking([.production, .sandbox]), .decided(.accepted(FakeApple.notification), without: [])]
        }
        #expect(try await isAccepted())
        #expect(rig.apple.with { $0.demands } == [.required, .required])
        #expect(rig.apple.calls == ["intend", "create", "made channel-0", "intend", "create", "made channel-1"])
    }

    @Test("goes on without where Apple makes none, and says so")
    func goesOn() async throws {
        rig.apple.with {
            $0.createResult = .refused(.notSent("no connection"))
            $0.starts = [
                .lacking([.production]), .decided(.accepted(FakeApple.notification), without: [.production]),
            ]
        }
        #expect(try await isAccepted())
        #expect(rig.apple.with { $0.demands } == [.required, .asAvailable])
        #expect(rig.metric("openpush_channel_starts_without_total 1"))
        #expect(rig.lines.contains("A start goes on with update tokens only"))
    }

    @Test("goes on without when others take what it makes")
    func loses() async throws {
        rig.apple.with { state in
            state.starts =
                Array(repeating: .lacking([.production]), count: 3)
                + [.decided(.accepted(FakeApple.notification), without: [.production])]
        }
        #expect(try await isAccepted())
        #expect(rig.apple.with { $0.demands } == [.required, .required, .required, .asAvailable])
    }
}
