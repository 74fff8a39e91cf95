import APNs
import Configuration
import Gateway
import Glibc
import Observability
import Security
import Store

/// Tries an app's credentials: pushes to a well-formed token that no device has, and reads what APNs thinks.
///
/// APNs looks at the provider token and the topic before the device token, so that `BadDeviceToken` means that all else is right.
enum Doctor {
    /// How long one try may take.
    private static let patience: Duration = .seconds(15)

    static func run(_ arguments: consuming CommandArguments) async throws -> Report {
        let publicID = try arguments.take("app", expected: "an app_id (UUID)") { UUID($0) }
        let wanted = arguments.takeOptional("environment")
        guard wanted == nil || PushEnvironment(name: wanted ?? "") != nil else {
            throw CommandArguments.Mistake(description: "--environment must be production or sandbox")
        }
        try arguments.finish()
        return try await Session.run(needs: [.masterKey, .apns]) { session in
            let application = try await session.application(publicID)
            let environment = wanted.flatMap { PushEnvironment(name: $0) } ?? application.defaultEnvironment
            guard let key = application.providerKey else {
                throw CommandFailure.data("the app \(publicID) has no signing key of Apple's; nothing of it goes to APNs")
            }
            guard try await session.store.signingKey(of: key) != nil else {
                throw CommandFailure.negative(
                    "The stored signing key of \(publicID) cannot be opened: OPENPUSH_MASTER_KEY is not the one it was sealed with."
                )
            }
            return report(
                try await outcome(for: application, in: environment, session: session), application: application, key: key,
                environment: environment)
        }
    }

    private static func outcome(
        for application: Application, in environment: PushEnvironment, session: Session
    ) async throws -> PushOutcome {
        guard let apns = session.configuration.apns else { preconditionFailure("the session reads what the command needs") }
        var configuration = APNs.APNsConfiguration()
        configuration.production = APNsEndpoint(host: apns.production.host, port: apns.production.port)
        configuration.sandbox = APNsEndpoint(host: apns.sandbox.host, port: apns.sandbox.port)
        configuration.connectionCount = 1
        configuration.connectionWait = patience
        let sender = APNsSender(
            loop: session.loop, configuration: configuration,
            tls: try TLSContext.client(extraRootsPEM: apns.extraRootsPEM, applicationProtocols: ["h2"]),
            minters: ProviderTokenMinters(vault: session.store), logger: Logger(level: .error), metrics: Metrics())
        var tokens = TokenList()
        tokens.append([UInt8](repeating: 0, count: 32))
        let content = PushContent(
            event: .update, attributesType: nil, attributes: nil, contentState: Array(#"{"doctor":true}"#.utf8), alerts: [],
            sound: nil, staleDate: nil, dismissalDate: nil, relevanceScore: nil, priority: 5)
        let body = LiveActivityPayload().render(
            content, form: PayloadForm(service: PushService(apns: environment)), timestamp: Int64(time(nil)), alert: nil)
        let outcomes = await sender.send(
            PushBatch(
                application: application, service: PushService(apns: environment), notification: NotificationID(rawValue: 0),
                collapseID: nil,
                priority: 5, expiresAt: 0, bodies: [body], devices: [0], tokens: tokens, bodyIndexes: [0],
                cancellation: Cancellation(), onFirstAccepted: nil))
        await sender.drain(timeout: .seconds(1))
        return outcomes[0]
    }

    private static func report(
        _ outcome: PushOutcome, application: Application, key: ProviderKey, environment: PushEnvironment
    ) -> Report {
        let finding = DoctorFinding(outcome)
        let place = "\(application.bundleID ?? "no bundle identifier") in \(environment.name)"
        let lines =
            [
                "App \(application.publicID): \(place), team \(key.teamID), key \(key.keyID)"
            ]
            + DoctorFinding.Part.allCases.map { part in
                "  \(part.rawValue): \(finding.verdicts[part]?.rawValue ?? DoctorFinding.Verdict.unknown.rawValue)"
            } + [finding.advice]
        return Report(
            members: [
                ("app_id", .text("\(application.publicID)")), ("environment_name", .text(environment.name)),
                ("good", .flag(finding.isGood)), ("answer", .text(finding.answer)),
            ]
                + DoctorFinding.Part.allCases.map { part in
                    (part.rawValue, .text(finding.verdicts[part]?.rawValue ?? DoctorFinding.Verdict.unknown.rawValue))
                } + [("advice", .text(finding.advice))],
            lines: lines, status: finding.isGood ? 0 : 1)
    }
}
