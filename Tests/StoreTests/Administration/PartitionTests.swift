import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Partitions", .enabled(if: TestDatabase.isAvailable)) struct PartitionTests {
    private static let tables = ["fan_out_chunk", "delivery", "click", "device_report"]

    private static func count(_ fixture: StoreFixture) async throws -> Int64? {
        try await fixture.number(
            "select count(*) from pg_inherits where inhparent::regclass::text in ('fan_out_chunk', 'delivery', 'click', 'device_report')"
        )
    }

    @Test("are made by many daemons at once, each once")
    func areMadeOnce() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            let before = try await Self.count(fixture)
            try await fixture.store.maintainPartitions()
            #expect(try await Self.count(fixture) == before)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask { try await fixture.store.query(MaintenanceStatements.ensurePartitions, [.int32(30)]) }
                }
                try await group.waitForAll()
            }
            #expect(try await Self.count(fixture) == 4 * 32)
        }
    }

    @Test("take every row of the coming week and of yesterday", arguments: tables)
    func takeEveryRow(table: String) async throws {
        try await StoreFixture.with { fixture in
            let values = [
                "fan_out_chunk": "number, state) select id, 0, 0", "delivery": "device_id, at_ms, status) select id, 1, 0, 0",
                "device_report": "device_id, report_id) select id, 1, gen_random_uuid()",
            ]
            let insert = values[table] ?? "device_id) select id, 1"
            try await fixture.session.execute(
                """
                insert into \(table) (notification_id, \(insert)
                from (select time_ordered_id(now() + h * interval '1 hour', h) as id from generate_series(-24, 7 * 24) as h) as ids
                """)
            #expect(try await fixture.number("select count(*) from \(table)") == 24 + 7 * 24 + 1)
        }
    }

    @Test("begin and end at midnight in UTC, whatever the session's time zone")
    func followUTC() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.session.execute("set time zone 'Pacific/Auckland'")
            #expect(try await fixture.number("select ensure_partitions(8)") == 0)
            try await fixture.session.execute("set time zone 'UTC'")
            let misplaced = try await fixture.number(
                """
                insert into click (notification_id, device_id)
                select time_ordered_id(date_trunc('day', now()) + interval '1 day' - interval '1 millisecond', 0), 1
                union all select time_ordered_id(date_trunc('day', now()) + interval '1 day', 0), 1;
                """.replacing(";", with: " returning (tableoid::regclass::text like '%' || to_char(now(), 'YYYYMMDD'))::int"))
            #expect(misplaced == 1)
            #expect(try await fixture.number("select count(distinct tableoid) from click") == 2)
        }
    }
}
