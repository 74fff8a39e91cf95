import Gateway
import PostgreSQL

extension Store {
    /// The row keeps the times of the latest 60 calls; one more is admitted when the oldest of them is a minute old.
    func admit(callOf application: ApplicationID) async throws(StorageError) -> RateDecision {
        let admitted = try await query(RateLimitStatements.admit, [.application(application)])
        guard admitted.rowCount == 0 else { return .admitted }
        let wait = try await query(RateLimitStatements.wait, [.application(application)])
        return .refused(retryAfterSeconds: wait.rowCount == 1 ? Int(wait.int32(row: 0, column: 0)) : 1)
    }
}

enum RateLimitStatements {
    static let all = [admit, wait]

    // clock_timestamp, not now: a call that waited for the row must be counted when it got it. A refusal writes nothing.
    static let admit = Statement(
        name: "rate_limit_admit",
        text: """
            insert into rate_limit as kept (app_id, calls)
            values ($1, array[clock_timestamp()])
            on conflict (app_id) do update
                set calls = kept.calls[
                    greatest(cardinality(kept.calls) - \(AdmissionLimits.requestsPerMinute - 2), 1):] || clock_timestamp()
                where cardinality(kept.calls) < \(AdmissionLimits.requestsPerMinute)
                    or kept.calls[1] <= clock_timestamp() - interval '60 s'
            returning 1
            """)

    /// Whole seconds until a call is admitted again.
    static let wait = Statement(
        name: "rate_limit_wait",
        text: """
            select greatest(ceil(extract(epoch from calls[1] + interval '60 s' - clock_timestamp())), 1)::int
            from rate_limit
            where app_id = $1
            """)
}
