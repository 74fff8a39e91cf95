package import Gateway
import Glibc
import HTTP
import JSON
package import Networking
package import Observability
package import Security

/// Makes, reads, lists and deletes broadcast channels.
///
/// Source: Apple, "Sending channel management requests to APNs".
package actor ChannelManager: ChannelService {
    private nonisolated let loop: EventLoop
    private let configuration: BroadcastConfiguration
    private var clients: ProviderClients

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// A manager without connections.
    ///
    /// - Parameters:
    ///   - tls: a client context that verifies APNs, with ALPN `h2`.
    ///   - minters: shared with the senders of all loops.
    package init(
        loop: EventLoop, configuration: BroadcastConfiguration, tls: TLSContext, minters: ProviderTokenMinters, logger: Logger,
        trust: APNsTrust = APNsTrust()
    ) {
        self.loop = loop
        self.configuration = configuration
        clients = ProviderClients(loop: loop, minters: minters, logger: logger, trust: trust, tls: tls)
    }

    package func createChannel(
        _ policy: ChannelStoragePolicy, request: UUID, for application: Application, in environment: PushEnvironment,
        timeout: Duration
    ) async -> ChannelResult<String> {
        let body = #"{"message-storage-policy":\#(policy.rawValue),"push-type":"LiveActivity"}"#
        let fields = [HTTP2Field("apns-request-id", "\(request)"), HTTP2Field("content-type", "application/json")]
        return await send("POST", "channels", fields, Array(body.utf8), application, environment, timeout) { response in
            guard response.status == 201 else { return nil }
            return response.headers["apns-channel-id"].flatMap { Self.isIdentifier($0) ? $0 : nil }
        }
    }

    package func policy(
        ofChannel identifier: String, of application: Application, in environment: PushEnvironment, timeout: Duration
    ) async -> ChannelResult<ChannelStoragePolicy> {
        let fields = [HTTP2Field("apns-channel-id", identifier)]
        return await send("GET", "channels", fields, [], application, environment, timeout) { response in
            let root = try? JSONDocument(parsing: response.body).root
            return root?["message-storage-policy"]?.integer.flatMap(Int16.init(exactly:)).flatMap(ChannelStoragePolicy.init)
        }
    }

    package func deleteChannel(
        _ identifier: String, of application: Application, in environment: PushEnvironment, timeout: Duration
    ) async -> ChannelResult<Bool> {
        let fields = [HTTP2Field("apns-channel-id", identifier)]
        let result: ChannelResult<Bool> = await send("DELETE", "channels", fields, [], application, environment, timeout) {
            $0.status == 204 ? true : nil
        }
        // Seen on the wire: the path of a channel that is not there is bad.
        switch result {
        case .refused(.unknownChannel), .refused(.other(.badPath)): return .done(true)
        default: return result
        }
    }

    package func channels(of application: Application, in environment: PushEnvironment, timeout: Duration)
        async -> ChannelResult<[String]>
    {
        await send("GET", "all-channels", [], [], application, environment, timeout) { response in
            guard let list = (try? JSONDocument(parsing: response.body).root)?["channels"], list.kind == .array else {
                return nil
            }
            let identifiers = list.elements.compactMap(\.string).filter(Self.isIdentifier)
            return identifiers.count == list.elements.count ? identifiers : nil
        }
    }

    private static func isIdentifier(_ text: String) -> Bool { (1...ChannelPlan.identifierByteCount).contains(text.utf8.count) }

    /// Verifies Apple by another context from the next connection on, after the file of roots was replaced.
    package func replaceTLS(_ context: TLSContext) async {
        clients.use(context)
        for client in clients.clients.values { await client.replaceTLS(context) }
    }

    /// Takes nothing new and waits for what is on the wire, up to the timeout.
    package func drain(timeout: Duration) async {
        let draining = Array(clients.clients.values)
        await withTaskGroup(of: Void.self) { group in
            for client in draining { group.addTask { await client.drain(timeout: timeout) } }
        }
    }

    /// - Parameter read: what an answer of success says; nil when it is not what Apple's pages describe.
    private func send<Value: Sendable & Equatable>(
        _ method: String, _ resource: String, _ fields: [HTTP2Field], _ body: [UInt8], _ application: Application,
        _ environment: PushEnvironment, _ timeout: Duration, read: (HTTPClientResponse) -> Value?
    ) async -> ChannelResult<Value> {
        guard let bundleID = application.bundleID, let providerKey = application.providerKey else {
            return .refused(.other(.credentialsRefused))
        }
        let client = clients.client(
            ProviderClients.Key(environment: environment, providerKey: providerKey),
            endpoint: configuration.managementEndpoint(of: environment), configuration: configuration.management)
        let request = ProviderClient.Request(
            method: method, path: "/1/apps/\(bundleID)/\(resource)", fields: fields, body: body)
        switch await client.send(request, timeout: timeout) {
        case .held(let reason, let delay): return .refused(.later(reason, delayMilliseconds: delay))
        case .notSent(let failure): return .refused(.notSent("\(failure)"))
        case .unanswered(let failure): return .unclear("\(failure)")
        case .answered(let answer, let response):
            guard (200..<300).contains(response.status) else {
                return ChannelAnswer.result(of: answer, wallSeconds: Int64(time(nil)))
            }
            return read(response).map { .done($0) } ?? .unclear("an answer with status \(response.status) that is not understood")
        }
    }
}

/// Tells what a refusal of Apple's management means.
///
/// Source: Apple, "Handling error responses from APNs" (broadcast). A reason this version does not know is judged by its status.
enum ChannelAnswer {
    static func result<Value>(of answer: PushResponse, wallSeconds: Int64) -> ChannelResult<Value> {
        // What an error inside Apple's service left behind, nobody knows.
        if answer.status >= 500, answer.reason != DeliveryReason.shutdown.name {
            return .unclear(answer.reason ?? "status \(answer.status)")
        }
        if answer.reason == "CannotCreateChannelConfig" { return .refused(.full) }
        switch ResponseClass.verdict(on: answer, wallSeconds: wallSeconds).outcome {
        case .rejected(.broadcastFeatureNotEnabled): return .refused(.notEnabled)
        case .tokenDead, .rejected(.badChannelID): return .refused(.unknownChannel)
        case .rejected(let reason): return .refused(.other(reason))
        case .deferred(let reason, let delay): return .refused(.later(reason, delayMilliseconds: delay))
        case .accepted, .notSent, .unknown: return .unclear("status \(answer.status)")
        }
    }
}
