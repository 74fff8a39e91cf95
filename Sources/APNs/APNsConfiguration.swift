import Gateway
import HTTP
package import Networking

/// Where one of Apple's services is.
package struct APNsEndpoint: Sendable, Hashable {
    /// Host name or address; certificates are checked against it.
    package let host: String
    /// TCP port.
    package let port: UInt16

    /// Puts host and port together.
    package init(host: String, port: UInt16 = 443) {
        self.host = host
        self.port = port
    }

    /// `:authority`; the port of HTTPS is left out.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == 443 ? name : "\(name):\(port)"
    }
}

/// How APNs is reached. The defaults follow Apple's advice; tests shorten the times.
package struct APNsConfiguration: Sendable {
    /// `OPENPUSH_APNS_PRODUCTION_URL`.
    package var production = APNsEndpoint(host: "api.push.apple.com")
    /// `OPENPUSH_APNS_SANDBOX_URL`.
    package var sandbox = APNsEndpoint(host: "api.sandbox.push.apple.com")
    /// `OPENPUSH_APNS_CONNECTIONS`: most connections that take pushes, for each event loop, environment and key. 1 to 64;
    /// the daemon's own default is 8.
    package var connectionCount = 4
    /// Most streams of a connection, whatever APNs allows. APNs was seen to allow 1,000.
    package var streamCount = 1000
    /// Requests a connection carries before another takes its place; HTTP/2 has numbers for a billion.
    package var requestCount = HTTP2ClientLimits().requestCount
    /// How long TCP, TLS and the first SETTINGS may take together.
    package var connectTimeout = Duration.seconds(10)
    /// How long APNs may take to answer one push before it is given up as unknown.
    package var answerTimeout = Duration.seconds(10)
    /// How long pushes wait for a connection before they are handed back.
    package var connectionWait = Duration.seconds(30)
    /// How long they wait beside an older batch of their app, while there is no connection.
    package var companionWait = Duration.seconds(5)
    /// Pause before connections beyond the first are added. Source: Apple engineers advise "a few seconds".
    package var connectionSpacing = Duration.seconds(1)
    /// First and longest pause after a connection that failed or on which every push was turned away; doubles from one to the other.
    package var firstBackOff = Duration.milliseconds(250)
    package var longestBackOff = Duration.seconds(15)
    /// Silence after which a PING asks whether APNs is still there, and how long its answer may take.
    package var pingInterval = Duration.seconds(60)
    package var pingTimeout = Duration.seconds(10)
    /// While all streams are taken, freed ones are filled in intervals of this length, so that TLS records fill up.
    package var fillInterval = Duration.milliseconds(4)
    /// How often deadlines are looked at while pushes are under way.
    package var tickInterval = Duration.milliseconds(250)
    /// Finds the addresses of a service, anew for each connection. The default asks the system.
    package var lookUp: @Sendable (APNsEndpoint) async throws(ResolveError) -> [SocketAddress] = {
        (endpoint) async throws(ResolveError) -> [SocketAddress] in
        try await Resolver.resolve(host: endpoint.host, port: endpoint.port)
    }
    /// Most batches a pool holds; another one is handed back unsent.
    package var batchCount = 1024

    /// The defaults.
    package init() {}

    /// The service of an environment.
    func endpoint(of environment: PushEnvironment) -> APNsEndpoint {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        }
    }
}
