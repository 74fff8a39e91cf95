import Gateway
import PostgreSQL

/// Who a start goes to, as far as it can be said when the start is accepted.
enum ResolvedAudience {
    /// These devices, ascending, each once; all of them hold a start token of the type. How many entries of the list name nobody, and
    /// what had been committed then, where the list names users.
    case devices([Int64], unknownEntryCount: Int64, usersSeen: String?)
    /// Who matches, found page by page while the fan-out runs.
    case conditions(FrozenAudience)
    /// Segments that do not exist, in the order they were named.
    case unknownSegments([String])
}

extension Store {
    /// The segment that is everybody, unless one is stored under this name. Source: OneSignal's contract.
    static let everybodySegment: ExactText = "All"

    func resolve(
        _ audience: Audience, type: Int32?, application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> ResolvedAudience {
        switch audience {
        case .aliases(let aliases):
            guard let type else { return .devices([], unknownEntryCount: 0, usersSeen: nil) }
            let parameters: [Parameter] = [
                .application(application), .int32(type), .textArray(aliases.map(\.label)),
                .textArray(aliases.map(\.identifier)),
            ]
            let found = try await connection.query(StartStatements.devicesByAlias, parameters)
            return Self.devices(of: found, namesUsers: true)
        case .subscriptions(let subscriptions):
            guard let type else { return .devices([], unknownEntryCount: 0, usersSeen: nil) }
            let parameters: [Parameter] = [
                .application(application), .int32(type), .uuidArray(subscriptions.map(\.bytes)),
            ]
            let found = try await connection.query(StartStatements.devicesBySubscription, parameters)
            return Self.devices(of: found, namesUsers: false)
        case .segments(let included, let excluded):
            return try await resolveSegments(included, excluded, application: application, on: connection)
        case .everybody(let excluded):
            return try await resolveSegments(nil, excluded, application: application, on: connection)
        case .filters(let expression):
            return .conditions(FrozenAudience(included: expression.branches, excluded: []))
        }
    }

    /// - Parameter included: nil is everybody.
    private func resolveSegments(
        _ included: [String]?, _ excluded: [String], application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> ResolvedAudience {
        let stored = try await connection.query(
            SegmentStatements.find, [.application(application), .textArray((included ?? []) + excluded)])
        var branches: [ExactText: [[FilterCondition]]] = [Self.everybodySegment: FrozenAudience.everybody]
        for row in 0..<stored.rowCount {
            branches[ExactText(stored.text(row: row, column: 0))] = try Self.branches(of: stored.bytes(row: row, column: 1))
        }
        let included = included?.map { ExactText($0) }
        let excluded = excluded.map { ExactText($0) }
        let unknown = ((included ?? []) + excluded).filter { branches[$0] == nil }
        guard unknown.isEmpty else { return .unknownSegments(unknown.uniqued().map(\.text)) }
        return .conditions(
            FrozenAudience(
                included: included?.flatMap { branches[$0] ?? [] } ?? FrozenAudience.everybody,
                excluded: excluded.flatMap { branches[$0] ?? [] }))
    }

    private static func devices(of result: QueryResult, namesUsers: Bool) -> ResolvedAudience {
        .devices(
            (0..<result.rowCount).map { result.int64(row: $0, column: 0) },
            unknownEntryCount: result.rowCount > 0 ? result.int64(row: 0, column: 1) : 0,
            usersSeen: namesUsers && result.rowCount > 0 ? result.text(row: 0, column: 2) : nil)
    }

    /// Whether anybody in the audience holds a start token of the type.
    func reachesAnybody(
        _ audience: FrozenAudience, type: Int32, application: ApplicationID, momentMicroseconds: Int64,
        on connection: DatabaseConnection
    ) async throws -> Bool {
        let sql = AudienceSQL(audience)
        let parameters = sql.parameters(
            application: application, type: type, low: 0, high: .max, momentMicroseconds: momentMicroseconds)
        let result = try await connection.queryUnprepared(
            "select exists (select \(sql.source(withDevice: false)))", parameters)
        return result.bool(row: 0, column: 0)
    }

    /// Longest the check may take whether a start reaches anybody; a condition that matches nobody reads the whole app.
    static let reachTimeoutMilliseconds = 5_000
}

extension Sequence where Element: Hashable {
    /// Each element once, in the order of its first appearance.
    func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

/// SQLSTATEs the store reports itself.
enum SQLStates {
    /// `data_corrupted`: a value this version stored or an older one did cannot be read back.
    static let unreadableValue = "XX001"
}
