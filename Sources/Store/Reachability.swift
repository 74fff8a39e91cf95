import Gateway
import PostgreSQL

/// What `/readyz` asks.
extension Store {
    /// How long an answer may take: whoever asks for readiness has little patience, and a database that has gone silent is not ready.
    static let reachabilityDeadline: Duration = .milliseconds(1_500)

    /// Whether the database answers and holds the schema.
    package func reachability() async -> Reachability {
        guard let found = try? await query(ReachabilityStatements.probe, deadline: Self.reachabilityDeadline) else {
            return .away
        }
        return found.rowCount == 1 && found.bool(row: 0, column: 0) ? .reachable : .withoutSchema
    }
}

/// How far a database can be used.
package enum Reachability: Sendable {
    case reachable
    /// It answers, and holds no schema.
    case withoutSchema
    case away
}

enum ReachabilityStatements {
    static let all = [probe]

    /// Names a table by text, so that it also answers where the schema is missing.
    static let probe = Statement(name: "probe", text: "select to_regclass('notification') is not null")
}
