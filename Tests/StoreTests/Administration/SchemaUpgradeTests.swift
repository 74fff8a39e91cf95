import Foundation
import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("A database of an earlier version", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(3)))
struct SchemaUpgradeTests {
    /// What makes two databases the same to the programs: columns, and what rows must be.
    private static let shape = """
        select string_agg(line, E'\\n' order by line)
        from (
            select format('%s.%s %s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull) as line
            from pg_attribute join pg_class on pg_class.oid = attrelid
            where attnum > 0 and not attisdropped and relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
            union all
            select format('%s %s', conrelid::regclass, pg_get_constraintdef(oid))
            from pg_constraint
            where connamespace = 'public'::regnamespace
            union all
            select indexdef from pg_indexes where schemaname = 'public' and tablename in ('delivery_retry', 'quiet_token', 'device_tag'))
                as described
        """

    private static func shape(of session: DatabaseConnection) async throws -> [Substring] {
        try await session.queryUnprepared(shape, []).text(row: 0, column: 0).split(separator: "\n")
    }

    @Test("calls no function of moments: each stands in the plan as what it computes")
    func inlines() async throws {
        try await TestDatabase.withNew { database in
            let session = try await database.connect()
            let plan = try await session.queryUnprepared(
                """
                explain (verbose) select unix_seconds(moment), milliseconds_after(1, moment), time_ordered_id(moment, 1),
                    tag_hash(1, 'a', moment::text)
                from (select clock_timestamp() as moment from generate_series(1, 2)) as moments
                """)
            let text = (0..<plan.rowCount).map { plan.text(row: $0, column: 0) }.joined(separator: "\n")
            for name in ["unix_seconds", "milliseconds_after", "time_ordered_id", "tag_hash"] {
                #expect(!text.contains(name), "\(text)")
            }
            let moments = try await session.queryUnprepared(
                """
                select unix_seconds('2026-12-01 00:00:00Z'), unix_seconds('2026-12-01 00:00:00.999999Z'),
                    unix_seconds('1969-12-31 23:59:59.5Z'), time_ordered_id('2020-01-01 00:00:00.001Z', 5),
                    milliseconds_after(time_ordered_id('2026-12-01 00:00:00Z', 7), '2026-12-01 00:00:01.234Z')::bigint
                """)
            #expect((0..<5).map { moments.int64(row: 0, column: $0) } == [1_796_083_200, 1_796_083_200, -1, 1 << 22 | 5, 1_234])
            await session.close()
        }
    }

    @Test("is brought to this one's shape, and keeps its devices and tokens")
    func upgrades() async throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures/schema-before-fcm.sql")
        let old = try String(contentsOf: file, encoding: .utf8)
        var shapes: [[Substring]] = []
        for isOld in [true, false] {
            try await TestDatabase.withNew(schema: false) { database in
                let pool = DatabasePool(loop: TestDatabase.loop, options: database.options, size: 2)
                let store = Store(pool: pool, sealingKey: StoreFixture.sealingKey)
                let session = try await database.connect()
                if isOld {
                    try await session.execute(old)
                    try await session.execute(
                        """
                        insert into device (app_id, push_token, environment) values (1, '\\x01', 1);
                        insert into start_token (app_id, type_id, device_id, token, environment) values (1, 1, 1, '\\x02', 1);
                        insert into update_token (activity_number, device_id, app_id, token, environment, started_at)
                        values (1, 1, 1, '\\x03', 1, 0);
                        insert into fan_out (notification_id, app_id, activity_number, event, has_languages)
                        values (1, 7, 1, 1, false);
                        insert into delivery_retry values (1, 1, 0, true, now());
                        insert into device_tag (app_id, key, value, device_id) values (1, 'club', 'home', 1);
                        """)
                }
                for _ in 0..<2 { try await store.applySchema() }
                shapes.append(try await Self.shape(of: session))
                if isOld {
                    let kept = try await session.queryUnprepared(
                        """
                        select device.service, start_token.service, update_token.service
                        from device join start_token using (device_id) join update_token using (device_id)
                        """, [])
                    #expect(kept.rowCount == 1)
                    #expect((0..<3).allSatisfy { kept.int16(row: 0, column: $0) == 1 })
                    let tagged = try await session.queryUnprepared(
                        "select count(*) from device_tag where hash = tag_hash(1, 'club', 'home') and device_id = 1", [])
                    #expect(tagged.int64(row: 0, column: 0) == 1)
                    // A daemon of before goes on naming no app.
                    try await session.execute(
                        """
                        insert into delivery_retry (notification_id, device_id, attempt, is_targeted, not_before)
                        values (1, 2, 0, true, now())
                        """)
                    let retries = try await session.queryUnprepared(
                        "select count(*) from delivery_retry where app_id = 7", [])
                    #expect(retries.int64(row: 0, column: 0) == 2)
                }
                await session.close()
                await pool.close()
            }
        }
        let (upgraded, fresh) = (Set(shapes[0]), Set(shapes[1]))
        #expect(upgraded.subtracting(fresh).isEmpty, "only in the upgraded one")
        #expect(fresh.subtracting(upgraded).isEmpty, "only in the fresh one")
    }
}
