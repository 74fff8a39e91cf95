import Testing

@testable import Gateway

@Suite("Channels of campaigns") struct CampaignChannelTests {
    private let rig = KeeperRig()

    @Test("are made by the next look at the place, also of an app whose own starts use none", arguments: [true, false])
    func made(isOn: Bool) async throws {
        let census = ChannelPlanTests.census(isOn: isOn) {
            $0.lackingCampaigns = [3, 4]
            if !isOn { $0.freeCount = 0 }
        }
        #expect(ChannelPlan.tasks(for: census, isFirstLook: false) == [.makeOfCampaigns([3, 4])])
        _ = try await rig.look()
        let calls = try await rig.look { $0.lackingCampaigns = [3, 4] }
        #expect(
            calls == [
                "keep", "intend of 3", "create", "made channel-0", "intend of 4", "create", "made channel-1", "leave",
            ])
    }

    @Test("are not made twice, and one that cannot be made stops those behind it")
    func notNeeded() async throws {
        _ = try await rig.look()
        rig.apple.with { $0.intents = [.notNeeded] }
        #expect(try await rig.keeper.makeNow(ofCampaign: 3, in: rig.place, timeout: .seconds(1)))
        rig.apple.with { $0.createResult = .refused(.later(.tooManyRequests, delayMilliseconds: 1_000)) }
        let calls = try await rig.look { $0.lackingCampaigns = [3, 4] }
        #expect(calls == ["keep", "intend of 3", "create", "not made", "leave"])
        rig.apple.with { $0.createResult = .refused(.notEnabled) }
        #expect(try await !rig.keeper.makeNow(ofCampaign: 3, in: rig.place, timeout: .seconds(1)))
        rig.apple.with { $0.calls = [] }
        #expect(try await !rig.keeper.makeNow(ofCampaign: 3, in: rig.place, timeout: .seconds(1)))
        #expect(rig.apple.calls == [])
    }
}
