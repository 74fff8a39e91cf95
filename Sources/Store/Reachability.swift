import Gateway
import PostgreSQL

/// What `/readyz` asks.
extension Store {
    /// How long an answer may take: whoever asks for readiness has little patience, and a database that has gone silent is not ready.
    static let reachabilityDeadline: Duration = .milliseconds(1_500)

    /// Whether the database answers, takes writes and holds the schema.
    package func reachability() async -> Reachability {
        do throws(DatabaseError) {
            // A database that is busy with requests is there: who has many of them must not be taken for dead.
            let found = try await pool.run(
                [StatementCall(ReachabilityStatements.probe)], deadline: Self.reachabilityDeadline, isUrgent: true)[0]
            guard !found.bool(row: 0, column: 1) else { return .readOnly }
            return found.bool(row: 0, column: 0) ? .reachable : .withoutSchema
        } catch {
            guard case .readOnly = error else { return .away }
            return .readOnly
        }
    }
}

/// How far a database can be used.
package enum Reachability: Sendable {
    case reachable
    /// It answers, and holds no schema.
    case withoutSchema
    /// It answers, and takes no writes.
    case readOnly
    case away

    /// What is wrong with a database that answers, and what to do.
    package var complaint: String? {
        switch self {
        case .reachable, .away: nil
        case .withoutSchema: "the schema is missing; run openpushctl schema apply"
        case .readOnly: "it takes no writes: a standby, or default_transaction_read_only is on; the URL must lead to the primary"
        }
    }
}

enum ReachabilityStatements {
    static let all = [probe]

    /// Names a table by text, so that it also answers where the schema is missing. On a standby no transaction can write.
    static let probe = Statement(
        name: "probe",
        text: "select to_regclass('notification') is not null, current_setting('transaction_read_only')::bool")
}
