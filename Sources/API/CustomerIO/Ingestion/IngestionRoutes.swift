import Gateway
import HTTP
import JSON
import Observability

/// What Customer.io's SDKs send, and the settings they ask for when an app starts.
///
/// The answers are made for the SDKs, which do with a batch what its status says and read nothing else: iOS drops it for a 400 only, Android for
/// every 4xx but 429, and all else is sent again with every flush (decision 30).
struct IngestionRoutes: Sendable {
    let authentication: Authentication
    let keeping: EventKeeping
    let meters: IngestionMeters
    let held: HeldBytes
    /// Seconds since 1970.
    let now: @Sendable () -> Int64
    let logger: Logger

    func respond(to request: HTTPRequest, route: Route, parameters: [String]) async throws(Refusal) -> HTTPResponse {
        switch route {
        case .sendBatch, .sendPublicBatch: try await take(request, route: route, kind: nil)
        case .sendTrack: try await take(request, route: route, kind: .track)
        case .sendIdentify: try await take(request, route: route, kind: .identify)
        case .readProjectSettings: try await settings(ofKey: parameters.last ?? "")
        default: preconditionFailure("no route of Customer.io's SDKs")
        }
    }

    // MARK: Events

    /// What the events of a body say, and the key that came with them. The body itself is not held while they are stored.
    private struct Told {
        let writeKey: String?
        let events: [Result<ToldEvent, DroppedEvent>]
    }

    private func take(
        _ request: HTTPRequest, route: Route, kind: EventReader.Kind?
    ) async throws(Refusal) -> HTTPResponse {
        let bytes = try IngestionBody.bytes(of: request)
        // A body that is small as it comes may have a hundred times as many bytes in it.
        let byteCount = bytes.count
        guard held.take(byteCount) else { throw .tooManyEvents(retryAfterSeconds: Self.retrySeconds) }
        defer { held.release(byteCount) }
        let isStrict = request.headers["x-strict-mode"] == "1"
        let told = try told(by: IngestionBody(bytes, isBatch: kind == nil), kind)
        guard let principal = try await authentication.sender(of: request, writeKey: told.writeKey) else {
            meters.count([EventOutcome](repeating: .unknownKey, count: told.events.count))
            if isStrict { throw .unauthorized }
            // Android sends single events again until they are accepted, whatever the refusal.
            if kind != nil { return Self.success }
            throw .unknownWriteKey
        }
        if isStrict { try Self.refuseIfAnythingIsWrong(told.events) }
        let outcomes = try await outcomes(of: told.events, principal, route)
        // Only now: what is sent again is counted once.
        meters.count(outcomes)
        return Self.success
    }

    private func told(by body: IngestionBody, _ kind: EventReader.Kind?) -> Told {
        let now = now()
        return Told(
            writeKey: body.writeKey,
            events: body.events.map { path, event in
                let reader = EventReader(path: path, event: event, now: now)
                return Result { () throws(DroppedEvent) in try reader.read(as: kind) }
            })
    }

    private static func refuseIfAnythingIsWrong(_ events: [Result<ToldEvent, DroppedEvent>]) throws(Refusal) {
        let errors = events.compactMap { event -> FieldError? in
            guard case .failure(let dropped) = event else { return nil }
            return dropped.error
        }
        guard errors.isEmpty else { throw .fields(Array(errors.prefix(FieldChecks.errorCountPerList))) }
    }

    /// Has events stored in their order. What fails because of the database fails the whole batch, which comes again.
    private func outcomes(
        of events: [Result<ToldEvent, DroppedEvent>], _ principal: Principal, _ route: Route
    ) async throws(Refusal) -> [EventOutcome] {
        let application = principal.application
        let isTrusted = principal.kind == .rest || !application.deviceAccess.requiresIdentity
        var outcomes: [EventOutcome] = []
        outcomes.reserveCapacity(events.count)
        for event in events {
            switch event {
            case .failure(let dropped): outcomes.append(dropped.outcome)
            case .success(let told):
                guard isTrusted || told.needsNoProof else {
                    outcomes.append(.unproven)
                    continue
                }
                do throws(StorageError) {
                    outcomes.append(try await keeping.keep(told, application: application))
                } catch {
                    // Sent again, these values would be refused again, and everything behind them would never get through.
                    guard case .refused(let sqlState) = error, error.isAboutValues else { throw .storage(error) }
                    logger.log(.error, "PostgreSQL refused an event of an SDK", [.route: route.name, .sqlState: sqlState])
                    outcomes.append(.refused)
                }
            }
        }
        return outcomes
    }

    /// What a sender is told to wait when too much is held, in seconds. The SDKs do not look at it.
    private static let retrySeconds = 1
    private static let success = HTTPResponse.json(status: 200) { $0.member("success", true) }

    // MARK: Settings

    /// Without the member of this name, or without settings at all in a 200, the SDKs switch themselves off.
    static let destination = "Customer.io Data Pipelines"

    private func settings(ofKey writeKey: String) async throws(Refusal) -> HTTPResponse {
        guard try await authentication.sender(with: [writeKey]) != nil else { throw .unknownProject }
        return .json(status: 200) { writer in
            writer.key("integrations")
            writer.beginObject()
            writer.key(Self.destination)
            writer.beginObject()
            writer.member("apiKey", writeKey)
            writer.endObject()
            writer.endObject()
            for name in ["plan", "edgeFunction"] {
                writer.key(name)
                writer.beginObject()
                writer.endObject()
            }
        }
    }
}

extension ToldEvent {
    /// Whether it says nothing of who a user is, and gives nobody anything to be targeted by.
    fileprivate var needsNoProof: Bool {
        if case .delivery = self { true } else { false }
    }
}

extension Refusal {
    /// No key that came with a batch is one that devices may use.
    static let unknownWriteKey = Refusal.fields([
        FieldError(field: "writeKey", problem: .notOneOf("a client or rest key that is in force"))
    ])
    static let unknownProject = Refusal.notFound("There is no client or rest key of this text in force.")
}
