import APNs
import Configuration
import FCM
import Gateway
import Glibc
import HTTP
import Observability
import Security
import Store

/// Asks the services of one app.
///
/// A push goes to a well-formed token that no device has. Both services look at who sends before they look at the token, so that a
/// complaint about the token means that all else is right.
struct DoctorExamination {
    /// How long one service may take.
    private static let patience: Duration = .seconds(15)
    /// How long connections may take to end.
    private static let drainTimeout: Duration = .seconds(1)
    private static let contentState = Array(#"{"doctor":true}"#.utf8)
    /// A token of FCM's form that it never gave.
    private static let strangeToken = Array("doctor:\(String(repeating: "0", count: 140))".utf8)

    let session: Session
    let application: Application
    let environment: PushEnvironment

    private let logger = Logger(level: .error)

    init(session: Session, application: Application, environment: PushEnvironment) {
        self.session = session
        self.application = application
        self.environment = environment
    }

    /// What each service that the app has credentials for thinks of them.
    func findings() async throws -> [DoctorFinding] {
        var findings: [DoctorFinding] = []
        if application.providerKey != nil {
            let push = DoctorFinding(apns: try await pushToAPNs())
            findings.append(push)
            // What is refused there is refused here: one word about it is enough.
            if application.usesChannels { findings.append(push.isGood ? try await listChannels() : .untried(.channels)) }
        }
        if let account = application.fcmAccount { findings.append(try await pushToFCM(account)) }
        return findings
    }

    private func batch(_ service: PushService, body: [UInt8], token: [UInt8]) -> PushBatch {
        var tokens = TokenList()
        tokens.append(token)
        return PushBatch(
            application: application, service: service, notification: NotificationID(rawValue: 0), collapseID: nil, priority: 5,
            expiresAt: 0, bodies: [body], devices: [0], tokens: tokens, bodyIndexes: [0], cancellation: Cancellation(),
            onFirstAccepted: nil)
    }

    private func content() -> PushContent {
        PushContent(
            event: .update, attributesType: nil, attributes: nil, contentState: Self.contentState, alerts: [], sound: nil,
            staleDate: nil, dismissalDate: nil, relevanceScore: nil, priority: 5)
    }

    // MARK: APNs

    private func pushToAPNs() async throws -> PushOutcome {
        guard let apns = session.configuration.apns else { preconditionFailure("the session reads what the command needs") }
        var configuration = APNs.APNsConfiguration()
        configuration.production = APNsEndpoint(host: apns.production.host, port: apns.production.port)
        configuration.sandbox = APNsEndpoint(host: apns.sandbox.host, port: apns.sandbox.port)
        configuration.connectionCount = 1
        configuration.connectionWait = Self.patience
        let sender = APNsSender(
            loop: session.loop, configuration: configuration,
            tls: try TLSContext.client(extraRootsPEM: apns.extraRootsPEM, applicationProtocols: ["h2"]),
            minters: ProviderTokenMinters(vault: session.store), logger: logger, metrics: Metrics())
        let service = PushService(apns: environment)
        let body = LiveActivityPayload().render(
            content(), form: PayloadForm(service: service), timestamp: Int64(time(nil)), alert: nil)
        let outcomes = await sender.send(batch(service, body: body, token: [UInt8](repeating: 0, count: 32)))
        await sender.drain(timeout: Self.drainTimeout)
        return outcomes[0]
    }

    private func listChannels() async throws -> DoctorFinding {
        guard let apns = session.configuration.apns else { preconditionFailure("the session reads what the command needs") }
        var configuration = BroadcastConfiguration()
        configuration.productionManagement = APNsEndpoint(host: apns.channelsProduction.host, port: apns.channelsProduction.port)
        configuration.sandboxManagement = APNsEndpoint(host: apns.channelsSandbox.host, port: apns.channelsSandbox.port)
        let manager = ChannelManager(
            loop: session.loop, configuration: configuration,
            tls: try TLSContext.client(extraRootsPEM: apns.extraRootsPEM, applicationProtocols: ["h2"]),
            minters: ProviderTokenMinters(vault: session.store), logger: logger)
        let result = await manager.channels(of: application, in: environment, timeout: Self.patience)
        await manager.drain(timeout: Self.drainTimeout)
        return DoctorFinding(channels: result)
    }

    // MARK: FCM

    private func pushToFCM(_ account: FCMAccount) async throws -> DoctorFinding {
        guard let google = session.configuration.google else { preconditionFailure("the session reads what the command needs") }
        let tls = try TLSContext.client(extraRootsPEM: google.extraRootsPEM, applicationProtocols: ["h2"])
        var configuration = FCMConfiguration()
        configuration.messages = HTTPOrigin(host: google.messages.host, port: google.messages.port)
        configuration.tokens = HTTPOrigin(host: google.tokens.host, port: google.tokens.port)
        configuration.connectionCount = 1
        configuration.connectionWait = Self.patience
        let minters = AccessTokenMinters(vault: session.store)
        let tokens = HTTPClient(loop: session.loop, origin: configuration.tokens, tls: tls)
        let minting = await minters.minter(of: account)
            .refresh(asking: HTTPTokenEndpoint(client: tokens, timeout: Self.patience))
        await tokens.drain(timeout: Self.drainTimeout)
        if case .failed(let reason) = minting { return DoctorFinding(refusedAccount: reason) }
        let sender = FCMSender(
            loop: session.loop, configuration: configuration, tls: tls, minters: minters, logger: logger, metrics: Metrics())
        let body = FCMData().render(content(), form: PayloadForm(service: .fcm), timestamp: Int64(time(nil)), alert: nil)
        let outcomes = await sender.send(batch(.fcm, body: body, token: Self.strangeToken))
        await sender.drain(timeout: Self.drainTimeout)
        return DoctorFinding(fcm: outcomes[0])
    }
}
