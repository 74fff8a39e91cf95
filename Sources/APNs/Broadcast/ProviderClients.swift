import Gateway
import HTTP
import Networking
import Observability
import Security

/// The clients of one event loop for one kind of service, one an environment and key, made on first use.
struct ProviderClients {
    struct Key: Hashable {
        let environment: PushEnvironment
        let providerKey: ProviderKey
    }

    let loop: EventLoop
    let minters: ProviderTokenMinters
    let logger: Logger
    let trust: APNsTrust
    private(set) var tls: TLSContext
    private(set) var clients: [Key: ProviderClient] = [:]

    init(loop: EventLoop, minters: ProviderTokenMinters, logger: Logger, trust: APNsTrust, tls: TLSContext) {
        self.loop = loop
        self.minters = minters
        self.logger = logger
        self.trust = trust
        self.tls = tls
    }

    /// Bounded by twice the number of keys in the database.
    mutating func client(
        _ key: Key, endpoint: APNsEndpoint, configuration: HTTPClientConfiguration
    ) -> ProviderClient {
        if let known = clients[key] { return known }
        let client = ProviderClient(
            loop: loop, endpoint: endpoint, environment: key.environment, configuration: configuration, tls: tls,
            minter: minters.minter(of: key.providerKey), logger: logger, trust: trust)
        clients[key] = client
        return client
    }

    /// Verifies by another context from the next connection on; the clients have to be told as well.
    mutating func use(_ context: TLSContext) { tls = context }
}
