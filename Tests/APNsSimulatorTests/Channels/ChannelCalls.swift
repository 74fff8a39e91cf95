import Security
import Testing

@testable import APNsSimulator

/// Requests of channels as a provider would make them; every part can be spoiled.
extension TestSimulator {
    static let bundleID = "com.example.app"

    /// A client of the port that manages an environment's channels.
    func connectToManagement(_ environment: PushEnvironment = .production) async throws -> FrameClient {
        try await FrameClient.connect(
            to: environment == .production ? simulator.productionManagementAddress : simulator.sandboxManagementAddress,
            trusting: simulator.certificateAuthority.certificatePEM)
    }

    func creation(policy: Int = 1) -> TestPush {
        call(
            "POST", "/1/apps/\(Self.bundleID)/channels",
            body: #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#)
    }

    func reading(_ channelID: String) -> TestPush {
        call("GET", "/1/apps/\(Self.bundleID)/channels").with("apns-channel-id", channelID)
    }

    func deletion(_ channelID: String) -> TestPush {
        call("DELETE", "/1/apps/\(Self.bundleID)/channels").with("apns-channel-id", channelID)
    }

    func listing() -> TestPush { call("GET", "/1/apps/\(Self.bundleID)/all-channels") }

    func publication(
        _ channelID: String, expiration: Int64 = TestSimulator.seconds + 3600, timestamp: Int64 = TestSimulator.seconds,
        event: String = "update"
    ) -> TestPush {
        call(
            "POST", "/4/broadcasts/apps/\(Self.bundleID)",
            body: #"{"aps":{"timestamp":\#(timestamp),"event":"\#(event)","content-state":{"score":1}}}"#
        )
        .with("apns-channel-id", channelID).with("apns-push-type", "liveactivity").with("apns-priority", "5")
        .with("apns-expiration", "\(expiration)")
    }

    private func call(_ method: String, _ path: String, body: String = "") -> TestPush {
        var call = TestPush(authorization)
        call.method = method
        call.path = path
        call.headers = [("authorization", authorization)]
        call.body = Array(body.utf8)
        return call
    }

    /// The identifier of the channel that was made last.
    var newestChannel: String { get throws { try #require(simulator.channels().last).identifier } }
}
