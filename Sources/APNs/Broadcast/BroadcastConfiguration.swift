import Gateway
package import HTTP

/// Where Apple's side of broadcast channels is.
package struct BroadcastConfiguration: Sendable {
    /// `OPENPUSH_APNS_BROADCAST_PRODUCTION_URL`. Apple's pages name `api-broadcast.push.apple.com` as well; this one was seen to work.
    package var production = APNsEndpoint(host: "api.push.apple.com")
    /// `OPENPUSH_APNS_BROADCAST_SANDBOX_URL`.
    package var sandbox = APNsEndpoint(host: "api.sandbox.push.apple.com")
    /// `OPENPUSH_APNS_CHANNELS_PRODUCTION_URL`.
    package var productionManagement = APNsEndpoint(host: "api-manage-broadcast.push.apple.com", port: 2196)
    /// `OPENPUSH_APNS_CHANNELS_SANDBOX_URL`.
    package var sandboxManagement = APNsEndpoint(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)
    /// How long a broadcast waits for a connection and its answer together. APNs answers in 100 to 300 ms.
    package var answerTimeout = Duration.seconds(10)
    /// Shortest wait before a broadcast that found no connection is tried again.
    package var unreachableDelayMilliseconds: Int64 = 1_000
    /// What the connections for publishing may use.
    package var publishing = HTTPClientConfiguration()
    /// What the connections for management may use: a list of 10,000 channels must fit.
    package var management: HTTPClientConfiguration

    /// The defaults.
    package init() {
        management = HTTPClientConfiguration()
        management.connectionCount = 1
        // Each identifier in quotes and with a comma.
        management.bodyByteCount = ChannelPlan.channelLimit * (ChannelPlan.identifierByteCount + 3) + 1024
    }

    func publishingEndpoint(of environment: PushEnvironment) -> APNsEndpoint {
        environment == .production ? production : sandbox
    }

    func managementEndpoint(of environment: PushEnvironment) -> APNsEndpoint {
        environment == .production ? productionManagement : sandboxManagement
    }
}
