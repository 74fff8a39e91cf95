import HTTP
import PostgreSQL
import TestSupport
import Testing

@Suite("A daemon's upkeep", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct UpkeepTests {
    /// Waits until the query's first value is as wanted; the suite's limit bounds it.
    private func wait(for sql: String, toBe wanted: Int64, _ gateway: Deployment) async throws {
        let session = try await gateway.database.connect()
        while try await session.queryUnprepared(sql).int64(row: 0, column: 0) != wanted {}
        await session.close()
    }

    @Test("drops partitions that are past their time, by the days it is told, and says so")
    func dropsPartitions() async throws {
        try await Deployment.run(daemons: 0, settings: ["OPENPUSH_RETENTION_DAYS": "100"]) { gateway in
            try await gateway.execute(
                """
                do $$
                declare
                    midnight timestamptz;
                    parent text;
                begin
                    foreach midnight in array array[
                        date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - interval '102 days',
                        date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - interval '99 days']
                    loop
                        foreach parent in array array['delivery', 'click', 'fan_out_chunk'] loop
                            execute format(
                                'create table %I partition of %I for values from (%s) to (%s)',
                                parent || to_char(midnight at time zone 'UTC', '_YYYYMMDD'), parent,
                                time_ordered_id(midnight, 0), time_ordered_id(midnight + interval '24 hours', 0));
                        end loop;
                    end loop;
                end $$;
                insert into delivery values (
                    time_ordered_id(
                        date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - interval '101 days 1 hour', 1),
                    1, 0, 200);
                """)
            try await gateway.startDaemon()
            try await wait(
                for: "select count(*) from pg_class where relname ~ '^(delivery|click|fan_out_chunk)_[0-9]{8}$'",
                toBe: 3 * 11, gateway)
            while !gateway.daemon.errors.contains("Removed what is past its time") {}
            #expect(gateway.daemon.errors.contains("partition_count=3"))
            let metrics = try await gateway.send("GET", "/metrics", key: nil)
            #expect(metrics.text.contains("\nopenpush_partition_days_ahead 8\n"), "\(metrics.text)")
        }
    }
}
