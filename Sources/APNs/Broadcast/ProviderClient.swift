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

    private struct Replaced {
        let client: HTTPClient
        var tokens: ProviderTokenUse
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
    private var client: HTTPClient
    private var tokens = ProviderTokenUse()
    /// Clients that were replaced, while requests of theirs are on the wire.
    private var replaced: [ObjectIdentifier: Replaced] = [:]
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
        client = HTTPClient(
            loop: loop, origin: HTTPOrigin(host: endpoint.host, port: endpoint.port), tls: tls, configuration: configuration)
    }

    /// Sends one request. A token that Apple calls too old is renewed, and the request goes out once more.
    func send(_ request: Request, timeout: Duration) async -> ProviderResult {
        let deadline = ContinuousClock.now + timeout
        var mayRepeat = true
        while true {
            let token: IssuedToken
            switch await admittedToken(until: deadline) {
            case .success(let admitted): token = admitted
            case .failure(.held(let reason, let delay)): return .held(reason, delayMilliseconds: delay)
            case .failure(.late): return .notSent(.timeout)
            }
            replaceConnections(before: token)
            let used = client
            let result = await used.send(
                HTTPClientRequest(
                    method: request.method, path: request.path,
                    fields: [HTTP2Field("authorization", "bearer " + token.value.token)] + request.fields, body: request.body,
                    mayLeave: request.mayLeave), timeout: deadline - .now)
            let response: HTTPClientResponse
            switch result {
            case .response(let answer): response = answer
            // It waited for a connection that was replaced.
            case .notSent(.draining) where used !== client && !isDraining: continue
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
            let repeats = settle(answer, generation: token.generation, of: used)
            guard repeats, mayRepeat, .now < deadline else { return .answered(answer, response) }
            mayRepeat = false
        }
    }

    /// Uses another context for new connections.
    func replaceTLS(_ context: TLSContext) async {
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
        let all = [client] + replaced.values.map(\.client)
        await withDiscardingTaskGroup { group in
            for client in all { group.addTask { await client.drain(timeout: timeout) } }
        }
    }

    // MARK: Tokens

    private enum Hold: Error {
        case held(DeliveryReason, delayMilliseconds: Int64)
        /// The request's time was over before there was a token.
        case late
    }

    private func admittedToken(until deadline: ContinuousClock.Instant) async -> Result<IssuedToken, Hold> {
        for _ in 0..<Self.tokenAttemptCount {
            guard .now < deadline else { return .failure(.late) }
            switch minter.admit() {
            case .use(let token, let renewalIsDue):
                if renewalIsDue { refreshInBackground() }
                return .success(token)
            case .probe(let token): return .success(token)
            case .needsToken: await refresh(until: deadline)
            case .held(let reason, let delay):
                return .failure(.held(reason, delayMilliseconds: max(Int64(delay / .milliseconds(1)), 1_000)))
            }
        }
        return .failure(
            .held(.credentialsRefused, delayMilliseconds: ResponseClass.tokenRefusedDelayMilliseconds))
    }

    /// Returns when a token was fetched, or at the deadline; the fetching goes on for others.
    private func refresh(until deadline: ContinuousClock.Instant) async {
        let (ends, end) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
        let timer = loop.schedule(after: deadline - .now) { end.finish() }
        Task {
            await minter.refresh()
            end.finish()
        }
        for await _ in ends {}
        loop.cancel(timer)
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
    private func settle(_ answer: PushResponse, generation: Int, of used: HTTPClient) -> Bool {
        let verdict = ResponseClass.verdict(on: answer, wallSeconds: Int64(time(nil)))
        switch verdict.consequence {
        case .renewProviderToken, .countTokenRefusal, .holdProviderToken:
            guard case .deferred(let reason, _) = verdict.outcome else { return false }
            if verdict.consequence != .countTokenRefusal { replaceConnections(of: used) }
            if verdict.consequence == .renewProviderToken,
                replaced[ObjectIdentifier(used)]?.tokens.calledExpired(generation) == false
            {
                return true
            }
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
            replaceConnections(of: used)
            return verdict.consequence == .resendElsewhere
        case .nothing, .countApplicationRefusal:
            if answer.status < 400 || answer.status < 500 && answer.status != 403 && answer.status != 429 {
                _ = minter.accepted(generation: generation)
            }
            return false
        }
    }

    /// Many requests may be answered so at once: the first answer replaces the connections, and those that come by the old ones find new ones.
    private func replaceConnections(of used: HTTPClient) {
        guard !isDraining, client === used else { return }
        client = used.assumeIsolated { $0.successor() }
        replaced[ObjectIdentifier(used)] = Replaced(client: used, tokens: tokens)
        tokens = ProviderTokenUse()
        Task {
            await used.drain(timeout: Self.replacedTime)
            replaced[ObjectIdentifier(used)] = nil
        }
    }

    /// Keeps a token off connections that were used under an older one which Apple called expired, be it on connections of others: the
    /// answers that say so may still be on their way.
    private func replaceConnections(before token: IssuedToken) {
        if tokens.isSpoilt(by: minter.spoiltGeneration) { replaceConnections(of: client) }
        tokens.used(token.generation)
    }

    private func notice(_ failure: HTTPClientFailure) {
        guard case .certificateRejected(let reason) = failure else { return }
        trust.rejected(environment)
        logger.log(
            .error, "The certificate of one of Apple's services is not accepted: check OPENPUSH_APNS_CA and the address",
            [.host: origin.host, .reason: reason])
    }
}
