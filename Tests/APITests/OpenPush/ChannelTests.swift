import Gateway
import HTTP
import Testing

@testable import API

@Suite("Joining a channel") struct ChannelTests {
    let api = TestAPI()

    private func join(_ body: String = #"{"push_token":"ab"}"#, activity: String = "match-1") async -> HTTPResponse {
        await api.send("POST", "/v1/activities/\(activity)/subscribe", body, key: .client)
    }

    @Test("tells the device its channel, and how long it lasts")
    func tells() async {
        api.ports.with {
            $0.membership = .joined(
                ActivityChannel(environment: .production, identifier: "dHN0LXNyY2gtY2hubA==", policy: .mostRecent),
                ActivityWindow(startedAt: 1_800_000_000))
        }
        let response = await join()
        #expect(response.status == 200)
        #expect(
            response.text
                == #"{"environment":"production","channel_id":"dHN0LXNyY2gtY2hubA==","storage":"most_recent","#
                + #""started_at":1800000000,"updates_until":1800028800,"end_until":1800043200}"#)
        #expect(api.ports.with { $0.joined } == ["match-1"])
    }

    @Test(
        "is refused with the reason",
        arguments: [
            (.unknownDevice, 404, "No device is registered under this push token."),
            (.unknownActivity, 404, "There is no activity of this id."), (.ended, 404, "The activity has ended."),
            (
                .noChannel, 404,
                "The activity has no broadcast channel in the device's environment; an update token does as well."
            ),
            (
                .tooOld, 409,
                "The device's iOS knows no broadcast channels, as iOS 18 and later do; an update token does as well."
            ),
        ] as [(ChannelMembership, Int, String)])
    func refusals(membership: ChannelMembership, status: Int, text: String) async {
        api.ports.with { $0.membership = membership }
        let response = await join()
        #expect(response.status == status)
        #expect(response.text.contains(text))
    }

    @Test("needs a push token and an activity that can be one")
    func fields() async {
        #expect(await join("{}").status == 400)
        #expect(await join(activity: "a%2Fb").status == 400)
        #expect(api.ports.with { $0.joined }.isEmpty)
    }
}
