import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Retention of partitions", .enabled(if: TestDatabase.isAvailable)) struct PartitionRetentionTests {
    private static let tables = ["delivery", "click", "device_report", "fan_out_chunk"]

    @Test("drops the days that are past their time as a whole, of all four tables, and no other")
    func dropsOldDays() async throws {
        try await StoreFixture.with { fixture in
            for table in Self.tables { #expect(try await fixture.partitions(of: table) == 10) }
            // Yesterday ends 30 days before that moment at the latest, today does not.
            let early = try await fixture.maintain(hoursAhead: 30 * 24)
            #expect(early.removed.partitions == 4 && early.heldPartitionCount == 0 && early.partitionProblem == nil)
            for table in Self.tables {
                #expect(try await fixture.partitions(of: table) == 9)
                #expect(
                    try await fixture.number(
                        "select count(*) from pg_class where relname = $1 || to_char(now() at time zone 'UTC' - interval '1 day', '_YYYYMMDD')",
                        [.text(table)]) == 0)
            }
            let late = try await fixture.maintain(hoursAhead: 39 * 24)
            #expect(late.removed.partitions == 4 * 10, "yesterday's were made again")
            for table in Self.tables { #expect(try await fixture.partitions(of: table) == 0) }
        }
    }

    @Test("keeps as many days as it is told")
    func obeysDays() async throws {
        try await StoreFixture.with { fixture in
            for (hours, days, count) in [(24, 2, 0), (24, 1, 4), (365 * 24, 3_650, 0)] as [(Int64, Int, Int)] {
                let report = try await fixture.maintain(hoursAhead: hours, retentionDays: days)
                #expect(report.removed.partitions == count, "\(days) days")
            }
        }
    }

    @Test("leaves a notification's totals, taps included, as they were")
    func keepsTotals() async throws {
        try await StoreFixture.with { fixture in
            let start = try await fixture.finishedStart("match-1")
            let before = try await fixture.summary(start)
            #expect(before.acceptedCount == 2 && before.clickCount == 3 && before.clickedDeviceCount == 2)
            // The partitions are gone a day and more before the notification is past its own time.
            try await fixture.session.execute("update fan_out set finished_at = now() + interval '100 days'")
            let report = try await fixture.maintain(hoursAhead: 32 * 24)
            #expect(report.removed.partitions == 4 * 3 && report.removed.notifications == 0)
            try await fixture.session.execute("update fan_out set finished_at = now()")
            let after = try await fixture.summary(start)
            #expect(after.state == .finished && after.targetedCount == 2 && after.acceptedCount == 2)
            #expect(after.pendingCount == 0 && after.clickCount == 3 && after.clickedDeviceCount == 2)
            // A tap that comes now has no push to belong to.
            let tap = try await fixture.tap(1, "match-1", start.publicID)
            guard case .nothingDelivered(fanOutIsOpen: false) = tap else { throw FixtureError.unexpected("\(tap)") }
        }
    }

    @Test("keeps the day of a fan-out that has not finished, and says so")
    func keepsUnfinishedDays() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            let worker = try await fixture.store.registerWorker(node: "a")
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            let chunk = try #require(try await fixture.claim(worker))
            let report = try await fixture.maintain(hoursAhead: 39 * 24)
            #expect(report.heldPartitionCount == 4 && report.removed.partitions == 36)
            #expect(report.removed.notifications == 0)
            #expect(try await fixture.store.record([StoreFixture.record(chunk, .start)], worker: worker) == [])
            // Somebody waits for another try or for what was missed.
            try await fixture.session.queryUnprepared(
                "insert into delivery_retry values ($1, 1, 0, false, now())", [.int64(start.id.rawValue)])
            #expect(try await fixture.maintain(hoursAhead: 39 * 24).heldPartitionCount == 4)
            try await fixture.session.execute("delete from delivery_retry")
            let last = try await fixture.maintain(hoursAhead: 39 * 24)
            #expect(last.heldPartitionCount == 0 && last.removed.partitions == 40 && last.removed.notifications == 1)
        }
    }

    @Test("goes on where a transaction that would not end stopped it")
    func goesOn() async throws {
        try await StoreFixture.with { fixture in
            var options = fixture.database.options
            options.statementTimeout = .milliseconds(300)
            let pool = DatabasePool(loop: TestDatabase.loop, options: options, size: 2)
            let hasty = Store(pool: pool, sealingKey: StoreFixture.sealingKey)
            try await fixture.session.execute("begin; select count(*) from delivery")
            let stopped = try await fixture.maintain(hoursAhead: 30 * 24, store: hasty)
            #expect(stopped.partitionProblem != nil && stopped.removed.partitions == 0)
            #expect(try await fixture.number("select count(*) from pg_inherits where inhdetachpending") == 1)
            #expect(try await fixture.maintain(hoursAhead: 30 * 24, store: hasty).partitionProblem != nil)
            try await fixture.session.execute("rollback")
            let resumed = try await fixture.maintain(hoursAhead: 30 * 24, store: hasty)
            #expect(resumed.partitionProblem == nil && resumed.removed.partitions == 4)
            #expect(try await fixture.number("select count(*) from pg_inherits where inhdetachpending") == 0)
            await pool.close()
        }
    }

    @Test("drops what an earlier round detached, and keeps what an operator detached")
    func dropsDetached() async throws {
        try await StoreFixture.with { fixture in
            let yesterday = try #require(
                try await fixture.text("select to_char(now() at time zone 'UTC' - interval '1 day', '_YYYYMMDD')"))
            try await fixture.session.execute(
                """
                comment on table delivery\(yesterday) is '\(PartitionStatements.mark)';
                alter table delivery detach partition delivery\(yesterday);
                alter table click detach partition click\(yesterday);
                """)
            #expect(try await fixture.maintain(hoursAhead: 30 * 24).removed.partitions == 3)
            #expect(try await fixture.number("select count(*) from pg_class where relname = 'delivery\(yesterday)'") == 0)
            #expect(try await fixture.number("select count(*) from pg_class where relname = 'click\(yesterday)'") == 1)
        }
    }

    @Test("is left to the daemon that is at it")
    func isAlone() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.session.execute("select pg_advisory_lock(hashtext('openpushd upkeep'))")
            let report = try await fixture.maintain(hoursAhead: 39 * 24)
            #expect(report.isElsewhere && report.removed == RemovedCounts() && report.partitionsEndAt > 0)
            try await fixture.session.execute("select pg_advisory_unlock_all()")
            let reports = try await withThrowingTaskGroup(of: UpkeepReport.self) { group in
                for _ in 0..<4 { group.addTask { try await fixture.maintain(hoursAhead: 39 * 24) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(reports.contains { !$0.isElsewhere })
            #expect(reports.allSatisfy { $0.partitionProblem == nil })
            let locks = try await fixture.number(
                """
                select count(*) from pg_locks
                where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
                """)
            #expect(locks == 0)
        }
    }

    @Test("tells how far ahead partitions are there")
    func tellsTheEnd() async throws {
        try await StoreFixture.with { fixture in
            let now = try #require(try await fixture.number("select unix_seconds(now())"))
            let end = try await fixture.store.maintain().partitionsEndAt
            #expect(end % 86_400 == 0 && (8...9).contains((end - now) / 86_400))
            let last = try #require(
                try await fixture.text("select to_char(now() at time zone 'UTC' + interval '8 days', '_YYYYMMDD')"))
            try await fixture.session.execute("alter table click detach partition click\(last)")
            let shorter = try await fixture.store.query(MaintenanceStatements.partitionsEnd).int64(row: 0, column: 0)
            #expect(shorter == end - 86_400)
        }
    }
}
