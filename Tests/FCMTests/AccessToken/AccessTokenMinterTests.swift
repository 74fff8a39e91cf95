import Gateway
import HTTP
import JSON
import Security
import Synchronization
import Testing

@testable import FCM

@Suite("Access token minter") struct AccessTokenMinterTests {
    /// Google's token endpoint, which gives what a test says and keeps what it was asked.
    private final class Endpoint: TokenEndpoint {
        let requests = Mutex<[HTTPClientRequest]>([])
        let answer: Mutex<HTTPClientResult>
        /// Requests wait for its end.
        let gate = Mutex<AsyncStream<Void>?>(nil)
        init(_ answer: HTTPClientResult) { self.answer = Mutex(answer) }
        func send(_ grant: HTTPClientRequest) async -> HTTPClientResult {
            requests.withLock { $0.append(grant) }
            if let gate = gate.withLock({ $0 }) { for await _ in gate {} }
            return answer.withLock { $0 }
        }
        var requestCount: Int { requests.withLock { $0.count } }
    }

    private static let clock = FCMClock(monotonic: { .seconds(100) }, wallSeconds: { 1_000_000 })

    private static func ok(_ token: String) -> HTTPClientResult {
        .response(
            HTTPClientResponse(
                status: 200, body: Array(#"{"access_token":"\#(token)","expires_in":3599,"token_type":"Bearer"}"#.utf8)))
    }

    private func minter(_ vault: MemoryVault) -> AccessTokenMinter {
        AccessTokenMinter(account: SampleAccount.account, vault: vault, clock: Self.clock)
    }

    @Test("asks with a signed grant, and shares what it gets")
    func mints() async throws {
        let (vault, endpoint) = (MemoryVault(), Endpoint(Self.ok("ya29.one")))
        let minter = minter(vault)
        #expect(minter.admit() == .needsToken)
        #expect(await minter.refresh(asking: endpoint) == .done)
        let token = AccessToken(token: "ya29.one", expiresAt: 1_003_599)
        #expect(minter.admit() == .use(IssuedAccessToken(value: token, generation: 1), renewalIsDue: false))
        #expect(vault.state.withLock { $0.tokens[SampleAccount.account] } == token)
        let request = try #require(endpoint.requests.withLock { $0.first })
        #expect(request.method == "POST" && request.path == "/token")
        #expect(request.fields == [HTTP2Field("content-type", "application/x-www-form-urlencoded")])
        let prefix = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        let body = String(decoding: request.body, as: UTF8.self)
        #expect(body.hasPrefix(prefix))
        let parts = body.dropFirst(prefix.count).split(separator: ".")
        #expect(parts.count == 3)
        let head = try JSONDocument(parsing: try #require(Base64.decodeURL(parts[0]))).root
        #expect(head["alg"]?.string == "RS256" && head["typ"]?.string == "JWT" && head["kid"]?.string == "0123abcd")
        let claims = try JSONDocument(parsing: try #require(Base64.decodeURL(parts[1]))).root
        #expect(claims["iss"]?.string == SampleAccount.email)
        #expect(claims["scope"]?.string == "https://www.googleapis.com/auth/firebase.messaging")
        #expect(claims["aud"]?.string == "https://oauth2.googleapis.com/token")
        #expect(claims["iat"]?.integer == 1_000_000 && claims["exp"]?.integer == 1_003_600)
        let signature = try #require(Base64.decodeURL(parts[2]))
        #expect(
            SampleAccount.key.publicKey.verifies(signature: signature, message: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test("takes what another daemon shared, and asks nobody")
    func shared() async {
        let (vault, endpoint) = (MemoryVault(), Endpoint(Self.ok("mine")))
        let theirs = AccessToken(token: "theirs", expiresAt: 1_002_000)
        vault.state.withLock { $0.tokens[SampleAccount.account] = theirs }
        let minter = minter(vault)
        #expect(await minter.refresh(asking: endpoint) == .done)
        #expect(minter.admit() == .use(IssuedAccessToken(value: theirs, generation: 1), renewalIsDue: false))
        #expect(endpoint.requestCount == 0)
    }

    @Test("tells those who wait for another caller's look what became of it", arguments: [true, false])
    func waits(succeeds: Bool) async {
        let endpoint = Endpoint(succeeds ? Self.ok("one") : .unanswered(.timeout))
        let (gate, end) = AsyncStream.makeStream(of: Void.self)
        endpoint.gate.withLock { $0 = gate }
        let minter = minter(MemoryVault())
        async let first = minter.refresh(asking: endpoint)
        while endpoint.requestCount == 0 { await Task.yield() }
        async let second = minter.refresh(asking: endpoint)
        while minter.waitingCount == 0 { await Task.yield() }
        end.finish()
        #expect(await first == (succeeds ? .done : .failed(reason: "no answer in time")))
        #expect(await second == (succeeds ? .done : .failedForOther))
        #expect(endpoint.requestCount == 1)
    }

    @Test("takes no token that is over before it could be used, and waits before it asks again")
    func shortLived() async {
        let body = #"{"access_token":"short","expires_in":15}"#
        let minter = minter(MemoryVault())
        let endpoint = Endpoint(.response(HTTPClientResponse(status: 200, body: Array(body.utf8))))
        #expect(await minter.refresh(asking: endpoint) == .failed(reason: "the access token lives for 15 s, which is too short"))
        #expect(minter.admit() == .held(.otherServerError, delay: .seconds(5)))
    }

    @Test("forgets a refused token for all daemons, and asks for another one")
    func refused() async {
        let (vault, endpoint) = (MemoryVault(), Endpoint(Self.ok("one")))
        let minter = minter(vault)
        _ = await minter.refresh(asking: endpoint)
        #expect(minter.refused(generation: 1) == .resend)
        endpoint.answer.withLock { $0 = Self.ok("two") }
        _ = await minter.refresh(asking: endpoint)
        #expect(vault.state.withLock { $0.forgotten.map(\.token) } == ["one"])
        guard case .use(let token, _) = minter.admit() else { return #expect(Bool(false), "no token") }
        #expect(token.value.token == "two" && token.generation == 2)
    }

    @Test("goes on with a token that could not be shared, and says so")
    func notShared() async {
        let (vault, endpoint) = (MemoryVault(), Endpoint(Self.ok("one")))
        vault.state.withLock { $0.keepFails = true }
        let minter = minter(vault)
        #expect(await minter.refresh(asking: endpoint) == .notShared(reason: "PostgreSQL cannot be reached"))
        guard case .use = minter.admit() else { return #expect(Bool(false), "no token") }
    }

    @Test(
        "holds back with the reason and says why, without what Google said in detail",
        arguments: [
            (
                HTTPClientResult.response(
                    HTTPClientResponse(
                        status: 400, body: Array(#"{"error":"invalid_grant","error_description":"secret"}"#.utf8))),
                DeliveryReason.credentialsRefused, "status 400, invalid_grant"
            ),
            (.response(HTTPClientResponse(status: 503)), .otherServerError, "status 503, no error named"),
            (.unanswered(.timeout), .connectionFailed, "no answer in time"),
            (
                .response(HTTPClientResponse(status: 200, body: Array("{}".utf8))), .otherServerError,
                "the answer holds no usable access_token"
            ),
        ])
    func failures(answer: HTTPClientResult, reason: DeliveryReason, text: String) async {
        let minter = minter(MemoryVault())
        #expect(await minter.refresh(asking: Endpoint(answer)) == .failed(reason: text))
        #expect(minter.admit() == .held(reason, delay: .seconds(5)))
    }

    @Test("holds back an account that is not stored or cannot be read, and asks nobody")
    func broken() async {
        for accounts in [[:], [SampleAccount.account: Array("{}".utf8)]] {
            let endpoint = Endpoint(Self.ok("one"))
            let minter = minter(MemoryVault(accounts: accounts))
            guard case .failed = await minter.refresh(asking: endpoint) else { return #expect(Bool(false), "minted") }
            #expect(minter.admit() == .held(.credentialsRefused, delay: .seconds(5)))
            #expect(endpoint.requestCount == 0)
        }
    }
}
