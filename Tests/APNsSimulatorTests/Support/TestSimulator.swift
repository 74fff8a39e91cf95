import Networking
import Security
import Synchronization

@testable import APNsSimulator

/// A simulator with one key and a clock under the test's control.
struct TestSimulator: Sendable {
    /// The clock at the start, in seconds since 1970.
    static let seconds: Int64 = 1_800_000_000
    static let team = "TEAM000001"
    static let keyID = "KEY0000001"

    let simulator: Simulator
    let clock: TestClock
    let key: ES256PrivateKey
    /// The value of a good `authorization` field, always the same.
    let authorization: String

    /// Starts one; `change` may alter what it starts with.
    static func start(_ change: (inout SimulatorConfiguration) throws -> Void = { _ in }) async throws -> TestSimulator {
        let key = ES256PrivateKey.generate()
        let clock = TestClock()
        var configuration = SimulatorConfiguration()
        configuration.clock = { clock.milliseconds }
        configuration.keys = [ProviderKey(teamID: team, keyID: keyID, publicKey: key.publicKey)]
        try change(&configuration)
        return TestSimulator(
            simulator: try await Simulator.start(configuration), clock: clock, key: key,
            authorization: try authorization(key: key))
    }

    /// A new value for the `authorization` field.
    func authorization(age: Int64) throws -> String {
        try TestSimulator.authorization(key: key, issuedAt: clock.milliseconds / 1000 - age)
    }

    /// Any `authorization` field.
    static func authorization(
        key: ES256PrivateKey, keyID: String = keyID, team: String = team, issuedAt: Int64 = seconds, algorithm: String = "ES256"
    ) throws -> String {
        let header = Base64.encodeURL(Array(#"{"alg":"\#(algorithm)","kid":"\#(keyID)"}"#.utf8))
        let claims = Base64.encodeURL(Array(#"{"iss":"\#(team)","iat":\#(issuedAt)}"#.utf8))
        let signature = try key.sign(Array("\(header).\(claims)".utf8))
        return "bearer \(header).\(claims).\(Base64.encodeURL(signature))"
    }

    /// A client of one environment.
    func connect(_ environment: PushEnvironment = .production) async throws -> FrameClient {
        try await FrameClient.connect(
            to: environment == .production ? simulator.productionAddress : simulator.sandboxAddress,
            trusting: simulator.certificateAuthority.certificatePEM)
    }

    /// A good push.
    func push(token: Int = 1) -> TestPush { TestPush(authorization, token: TestPush.token(token)) }

    /// Good pushes to so many tokens, from number 1.
    func pushes(_ count: Int) -> [TestPush] {
        (1...count).map { TestPush(authorization, token: TestPush.token($0)) }
    }

    /// A client that was authenticated by one push and may open many streams.
    func connectAuthenticated(_ environment: PushEnvironment = .production) async throws -> FrameClient {
        let client = try await connect(environment)
        _ = try await client.answer(to: push(token: 999_999))
        _ = try await client.first { $0.settings[3] == 1000 }
        return client
    }
}

/// A clock that moves when it is told to.
final class TestClock: Sendable {
    private let now = Atomic<Int64>(TestSimulator.seconds * 1000)

    var milliseconds: Int64 { now.load(ordering: .relaxed) }

    func advance(seconds: Int64) { now.add(seconds * 1000, ordering: .relaxed) }
}
