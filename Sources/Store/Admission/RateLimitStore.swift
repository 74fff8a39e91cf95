import Gateway
import PostgreSQL

extension Store {
    /// The row keeps the times of the latest calls, as many as fit the window; one more is admitted when the oldest of them is as old.
    func admit(callOf application: ApplicationID, _ limit: RateLimitStatements = .requests) async throws(StorageError)
        -> RateDecision
    {
        let admitted = try await query(limit.admit, [.application(application)])
        guard admitted.rowCount == 0 else { return .admitted }
        let wait = try await query(limit.wait, [.application(application)])
        return .refused(retryAfterSeconds: wait.rowCount == 1 ? Int(wait.int32(row: 0, column: 0)) : 1)
    }
}

/// The statements of one limit.
struct RateLimitStatements {
    static let all = [requests, instances].flatMap { [$0.admit, $0.wait] }

    /// OpenPush's routes that push.
    static let requests = RateLimitStatements(table: "rate_limit", count: AdmissionLimits.requestsPerMinute, seconds: 60)
    /// Customer.io's routes.
    static let instances = RateLimitStatements(
        table: "instance_rate_limit", count: AdmissionLimits.instanceCallsPerSecond, seconds: 1)

    let admit: Statement
    /// Whole seconds until a call is admitted again.
    let wait: Statement

    // clock_timestamp, not now: a call that waited for the row must be counted when it got it. A refusal writes nothing. Calls that are
    // still to come were made before the server's clock was set back: they are forgotten.
    private init(table: String, count: Int, seconds: Int) {
        admit = Statement(
            name: "\(table)_admit",
            text: """
                insert into \(table) as kept (app_id, calls)
                values ($1, array[clock_timestamp()])
                on conflict (app_id) do update
                    set calls = case when kept.calls[cardinality(kept.calls)] > clock_timestamp() then array[clock_timestamp()]
                        else kept.calls[greatest(cardinality(kept.calls) - \(count - 2), 1):] || clock_timestamp() end
                    where cardinality(kept.calls) < \(count) or kept.calls[1] <= clock_timestamp() - interval '\(seconds) s'
                        or kept.calls[cardinality(kept.calls)] > clock_timestamp()
                returning 1
                """)
        wait = Statement(
            name: "\(table)_wait",
            text: """
                select greatest(ceil(extract(epoch from calls[1] + interval '\(seconds) s' - clock_timestamp())), 1)::int
                from \(table)
                where app_id = $1
                """)
    }
}
