import Gateway
import Glibc
import HTTP
import JSON
import Networking
import Observability
import Security

/// What became of a request under a provider token.
enum ProviderResult: Sendable {
    /// Apple answered; nothing about the token is left to do.
    case answered(PushResponse, HTTPClientResponse)
    /// It was not sent, for want of a token that Apple takes.
    case held(DeliveryReason, delayMilliseconds: Int64)
    /// It never left, or was provably not processed.
    case notSent(HTTPClientFailure)
    /// It left, and no usable answer came.
    case unanswered(HTTPClientFailure)
}

/// Requests to one of Apple's services under one key's provider token, over the connections of one event loop.
///
/// APNs ties a connection to a key, and goes on refusing newer tokens where it refused one: the connections are then replaced.
actor ProviderClient {
    /// A whole request but for its authorization.
    struct Request: Sendable {
        var method: String
        var path: String
        var fields: [HTTP2Field] = []
        var body: [UInt8] = []
        /// As in `HTTPClientRequest`.
        var mayLeave: (@Sendable () -> Bool)?
    }

    /// How long connections that are replaced may take to end.
    private static let replacedTime = Duration.seconds(10)
    /// Times a token is fetched for one request, the first try included.
    private static let tokenAttemptCount = 3

    private nonisolated let loop: EventLoop
    private let origin: HTTPOrigin
    private let configuration: HTTPClientConfiguration
    private let environment: PushEnvironment
    private let minter: ProviderTokenMinter
    private let logger: Logger
    private let trust: APNsTrust
    private var tls: TLSContext
    private var client: HTTPClient
    private var isRefreshing = false
    private var isDraining = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// A client without connections.
    init(
        loop: EventLoop, endpoint: APNsEndpoint, environment: PushEnvironment, configuration: HTTPClientConfiguration,
        tls: TLSContext, minter: ProviderTokenMinter, logger: Logger, trust: APNsTrust
    ) {
        self.loop = loop
        origin = HTTPOrigin(host: endpoint.host, port: endpoint.port)
        self.configuration = configuration
        self.environment = environment
        self.minter = minter
        self.logger = logger
        self.trust = trust
        self.tls = tls
        client = HTTPClient(
            loop: loop, origin: HTTPOrigin(host: endpoint.host, port: endpoint.port), tls: tls, configuration: configuration)
    }

    /// Sends one request. A token that Apple calls too old is renewed, and the request goes out once more.
    func send(_ request: Request, timeout: Duration) async -> ProviderResult {
        let deadline = ContinuousClock.now + timeout
        var mayRepeat = true
        while true {
            let token: IssuedToken
            switch await admittedToken() {
            case .success(let admitted): token = admitted
            case .failure(let hold): return .held(hold.reason, delayMilliseconds: hold.delayMilliseconds)
            }
            let result = await client.send(
                HTTPClientRequest(
                    method: request.method, path: request.path,
                    fields: [HTTP2Field("authorization", "bearer " + token.value.token)] + request.fields, body: request.body,
                    mayLeave: request.mayLeave), timeout: deadline - .now)
            let response: HTTPClientResponse
            switch result {
            case .response(let answer): response = answer
            case .notSent(let failure):
                notice(failure)
                return .notSent(failure)
            case .unanswered(let failure):
                notice(failure)
                return .unanswered(failure)
            }
            trust.verified(environment)
            let answer = PushResponse(
                status: response.status, body: response.status == 200 ? [] : response.body,
                retryAfter: response.headers["retry-after"].map { Array($0.utf8) } ?? [])
            let repeats = await settle(answer, generation: token.generation)
            guard repeats, mayRepeat, .now < deadline else { return .answered(answer, response) }
            mayRepeat = false
        }
    }

    /// Uses another context for new connections.
    func replaceTLS(_ context: TLSContext) async {
        tls = context
        await client.replaceTLS(context)
    }

    /// Takes nothing new; what waits is handed back as not sent.
    func stopSubmitting() async {
        isDraining = true
        await client.stopSubmitting()
    }

    /// Stops submitting and waits for what is on the wire, up to the timeout.
    func drain(timeout: Duration) async {
        isDraining = true
        await client.drain(timeout: timeout)
    }

    // MARK: Tokens

    private struct Hold: Error {
        let reason: DeliveryReason
        let delayMilliseconds: Int64
    }

    private func admittedToken() async -> Result<IssuedToken, Hold> {
        for _ in 0..<Self.tokenAttemptCount {
            switch minter.admit() {
            case .use(let token, let renewalIsDue):
                if renewalIsDue { refreshInBackground() }
                return .success(token)
            case .probe(let token): return .success(token)
            case .needsToken: await minter.refresh()
            case .held(let reason, let delay):
                return .failure(Hold(reason: reason, delayMilliseconds: max(Int64(delay / .milliseconds(1)), 1_000)))
            }
        }
        return .failure(
            Hold(reason: .credentialsRefused, delayMilliseconds: ResponseClass.tokenRefusedDelayMilliseconds))
    }

    private func refreshInBackground() {
        guard !isRefreshing else { return }
        isRefreshing = true
        Task {
            await minter.refresh()
            isRefreshing = false
        }
    }

    /// Does what an answer demands of token and connections. Returns whether the same request may fare better at once.
    private func settle(_ answer: PushResponse, generation: Int) async -> Bool {
        let verdict = ResponseClass.verdict(on: answer, wallSeconds: Int64(time(nil)))
        switch verdict.consequence {
        case .renewProviderToken, .countTokenRefusal:
            guard case .deferred(let reason, _) = verdict.outcome else { return false }
            if verdict.consequence == .renewProviderToken { await replaceConnections() }
            switch minter.refused(reason, generation: generation) {
            case .resend: return true
            case .wait(let opensCircuit):
                if opensCircuit {
                    logger.log(
                        .error, "APNs refuses the provider token: requests wait; check the key, the team and this host's clock",
                        [.teamID: minter.key.teamID, .keyID: minter.key.keyID, .reason: reason.name])
                }
                return false
            }
        case .replaceConnection, .resendElsewhere:
            await replaceConnections()
            return verdict.consequence == .resendElsewhere
        case .nothing, .countApplicationRefusal:
            if answer.status < 400 || answer.status < 500 && answer.status != 403 && answer.status != 429 {
                _ = minter.accepted(generation: generation)
            }
            return false
        }
    }

    private func replaceConnections() async {
        guard !isDraining else { return }
        let old = client
        client = HTTPClient(loop: loop, origin: origin, tls: tls, configuration: configuration)
        // Nobody waits for them.
        Task { await old.drain(timeout: Self.replacedTime) }
    }

    private func notice(_ failure: HTTPClientFailure) {
        guard case .certificateRejected(let reason) = failure else { return }
        trust.rejected(environment)
        logger.log(
            .error, "The certificate of one of Apple's services is not accepted: check OPENPUSH_APNS_CA and the address",
            [.host: origin.host, .reason: reason])
    }
}
