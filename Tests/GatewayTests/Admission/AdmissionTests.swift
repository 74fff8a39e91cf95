import Synchronization
import Testing

@testable import Gateway

/// A ledger that notes what it was asked and answers as it was told.
private final class ScriptedLedger: NotificationLedger {
    let calls = Mutex<[String]>([])
    let rate: RateDecision
    let earlier: StartAcceptance?

    init(rate: RateDecision = .admitted, earlier: StartAcceptance? = nil) {
        self.rate = rate
        self.earlier = earlier
    }

    private func note(_ call: String) { calls.withLock { $0.append(call) } }
    func admitCall(of application: ApplicationID) async throws(StorageError) -> RateDecision {
        note("admit")
        return rate
    }
    func replay(of key: IdempotencyKey, application: ApplicationID) async throws(StorageError) -> StartAcceptance? {
        note("replay")
        return earlier
    }
    func accept(_ start: StartCommand, application: Application) async throws(StorageError) -> StartAcceptance {
        note("accept")
        return .nobody
    }
    func accept(_ update: UpdateCommand, application: Application) async throws(StorageError) -> UpdateAcceptance {
        note("accept")
        return .nobody
    }
    func progress(of notification: NotificationID) async throws(StorageError) -> FanOutProgress {
        FanOutProgress(acceptedCount: 0, isFinished: false)
    }
}

/// Renders as many bytes as the alert's title has, and ten for the timestamp.
private struct TitleRenderer: PayloadRenderer {
    func render(_ content: PushContent, form: PayloadForm, timestamp: Int64, alert: LocalizedAlert?) -> [UInt8] {
        Array((alert?.title ?? "").utf8) + Array(String(timestamp).utf8)
    }
}

@Suite("Admission") struct AdmissionTests {
    private static let application = Application(
        id: ApplicationID(rawValue: 1), publicID: UUID(high: 0, low: 1), name: "app", bundleID: "com.example.app",
        providerKey: ProviderKey(teamID: "TEAM", keyID: "KEY"), defaultEnvironment: .production)

    private func content(_ event: ActivityEvent, titleByteCounts: [Int], staleDate: Int64? = nil) -> PushContent {
        PushContent(
            event: event, attributesType: nil, attributes: nil, contentState: Array("{}".utf8),
            alerts: titleByteCounts.map {
                LocalizedAlert(language: "l\($0)", title: String(repeating: "x", count: $0), body: nil)
            },
            sound: nil, staleDate: staleDate, dismissalDate: nil, relevanceScore: nil, priority: 10)
    }
    private func start(titleByteCounts: [Int], key: Bool = false, staleDate: Int64? = nil) -> StartCommand {
        StartCommand(
            activityID: "a", activityType: "T", name: "n", audience: .segments(included: ["All"], excluded: []),
            content: content(.start, titleByteCounts: titleByteCounts, staleDate: staleDate),
            idempotency: key ? IdempotencyKey(key: UUID(high: 1, low: 2), bodyDigest: []) : nil)
    }
    private func admission(_ ledger: ScriptedLedger) -> Admission {
        Admission(ledger: ledger, renderer: TitleRenderer(), now: { 1_700_000_000 })
    }

    @Test("asks for the rate before all else")
    func rateFirst() async throws {
        let ledger = ScriptedLedger(rate: .refused(retryAfterSeconds: 7), earlier: .nobody)
        let decision = try await admission(ledger).start(start(titleByteCounts: [9999], key: true), application: Self.application)
        guard case .rateLimited(retryAfterSeconds: 7) = decision else {
            Issue.record("\(decision)")
            return
        }
        #expect(ledger.calls.withLock { $0 } == ["admit"])
    }

    @Test("answers a replay whatever the size of its body")
    func replayBeforeSize() async throws {
        let ledger = ScriptedLedger(earlier: .replayed(publicID: UUID(high: 0, low: 9), sameBody: false))
        let decision = try await admission(ledger).start(start(titleByteCounts: [9999], key: true), application: Self.application)
        guard case .decided(.replayed(let identifier, sameBody: false)) = decision else {
            Issue.record("\(decision)")
            return
        }
        #expect(identifier == UUID(high: 0, low: 9))
        #expect(ledger.calls.withLock { $0 } == ["admit", "replay"])
    }

    @Test("refuses a stale date that has passed, but not to a replay", arguments: [true, false])
    func stale(isReplay: Bool) async throws {
        let ledger = ScriptedLedger(
            earlier: isReplay ? .replayed(publicID: UUID(high: 0, low: 9), sameBody: true) : nil)
        let late = start(titleByteCounts: [1], key: true, staleDate: 1_699_999_999)
        switch try await admission(ledger).start(late, application: Self.application) {
        case .decided(.replayed): #expect(isReplay)
        case .stale: #expect(!isReplay)
        case let decision: Issue.record("\(decision)")
        }
        #expect(ledger.calls.withLock { $0 } == ["admit", "replay"])
        let timely = start(titleByteCounts: [1], key: true, staleDate: 1_700_000_000)
        _ = try await admission(ScriptedLedger()).start(timely, application: Self.application)
    }

    @Test("stores a body of 4096 bytes and refuses one more, in the largest language", arguments: [(4086, true), (4087, false)])
    func size(titleByteCount: Int, fits: Bool) async throws {
        for isStart in [true, false] {
            let ledger = ScriptedLedger()
            let counts = [1, titleByteCount, 2]
            var refused: Int?
            if isStart {
                let decision = try await admission(ledger).start(start(titleByteCounts: counts), application: Self.application)
                if case .tooLarge(let byteCount, limit: 4096) = decision { refused = byteCount }
            } else {
                let command = UpdateCommand(activityID: "a", name: "n", content: content(.end, titleByteCounts: counts))
                let decision = try await admission(ledger).update(command, application: Self.application)
                if case .tooLarge(let byteCount, limit: 4096) = decision { refused = byteCount }
            }
            #expect(refused == (fits ? nil : 4097))
            #expect(ledger.calls.withLock { $0 } == (fits ? ["admit", "accept"] : ["admit"]))
        }
    }

    @Test("stores a start whose key is new")
    func newKey() async throws {
        let ledger = ScriptedLedger()
        _ = try await admission(ledger).start(start(titleByteCounts: [1], key: true), application: Self.application)
        #expect(ledger.calls.withLock { $0 } == ["admit", "replay", "accept"])
    }
}
