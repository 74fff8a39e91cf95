import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Claim", .enabled(if: TestDatabase.isAvailable)) struct ClaimTests {
    @Test("of pages are planned once, not once a page")
    func planOnce() async throws {
        try await StoreFixture.with(connections: 1) { fixture in
            try await fixture.addDevices(20)
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            for _ in 0..<8 { #expect(try await fixture.claim(worker, 2) != nil) }
            let plans = try await fixture.pool.withConnection { connection in
                try await connection.queryUnprepared(
                    "select custom_plans, generic_plans from pg_prepared_statements where statement = $1",
                    [.text(CarvingStatements.startPage.text)])
            }
            try #require(plans.rowCount == 1)
            #expect(plans.int64(row: 0, column: 0) == 0 && plans.int64(row: 0, column: 1) == 8)
        }
    }

    @Test("two workers and more share a fan-out and push each device once")
    func sharesFanOuts() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            try await fixture.addDevices(3_000)
            let notification = try await fixture.accept(StoreFixture.start("match-1"))
            let devices = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for number in 0..<4 {
                    group.addTask {
                        let worker = try await fixture.store.registerWorker(node: "worker \(number)")
                        return try await fixture.deliverEverything(worker, deviceCount: 70)[notification.id] ?? []
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(devices.count == 3_000)
            #expect(Set(devices).count == 3_000)
            let summary = try await fixture.summary(notification)
            #expect(summary.state == .finished)
            #expect(summary.targetedCount == 3_000 && summary.acceptedCount == 3_000)
        }
    }

    @Test("workers share a fan-out with conditions as well")
    func sharesFilteredFanOuts() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            try await fixture.addDevices(1_000)
            try await fixture.session.execute("update device set session_count = device_id % 3")
            let expression = FilterExpression(branches: [[.sessionCount(.equal, 1)]])
            let notification = try await fixture.accept(StoreFixture.start("match-1", .filters(expression)))
            let devices = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for number in 0..<3 {
                    group.addTask {
                        let worker = try await fixture.store.registerWorker(node: "worker \(number)")
                        return try await fixture.deliverEverything(worker, deviceCount: 50)[notification.id] ?? []
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            let expected = try await fixture.number("select count(*) from device where session_count = 1")
            #expect(Int64(devices.count) == expected)
            #expect(Set(devices).count == devices.count)
            #expect(try await fixture.summary(notification).state == .finished)
        }
    }

    @Test("passes over windows in which nobody matches")
    func passesOverEmptyWindows() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(2 * Store.windowTokenCount + 500)
            try await fixture.session.execute(
                """
                insert into device_tag (app_id, key, value, device_id)
                select app_id, 'plan', 'pro', max(device_id) from device group by app_id
                """)
            let expression = FilterExpression(branches: [[.tag(key: "plan", .compares(.equal, "pro"))]])
            let notification = try await fixture.accept(StoreFixture.start("match-1", .filters(expression)))
            let worker = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(worker))
            #expect(chunk.devices.count == 1)
            #expect(try await fixture.store.record([StoreFixture.record(chunk, .start)], worker: worker) == [])
            #expect(try await fixture.claim(worker) == nil)
            #expect(try await fixture.summary(notification).state == .finished)
        }
    }

    @Test("goes to the fan-out that got least so far, and not to excluded apps")
    func isFair() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(50)
            let large = try await fixture.accept(StoreFixture.start("large"))
            let worker = try await fixture.store.registerWorker(node: "a")
            for _ in 0..<3 { #expect(try await fixture.claim(worker, 2)?.id.notification == large.id) }
            let small = try await fixture.accept(StoreFixture.start("small"))
            for _ in 0..<3 { #expect(try await fixture.claim(worker, 2)?.id.notification == small.id) }
            #expect(try await fixture.claim(worker, 2, excluding: [fixture.application.id]) == nil)
            #expect(try await fixture.claim(worker, 2, excluding: [ApplicationID(rawValue: 999)]) != nil)
        }
    }

    @Test("brings languages only when the texts differ by language")
    func bringsLanguages() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.language = "de" }
            try await fixture.addDevice(2)
            try await fixture.addDevice(3) { $0.environment = .sandbox }
            let alerts = ["en", "de"].map { LocalizedAlert(language: $0, title: $0, body: nil) }
            let everybody = FilterExpression(branches: [[.countryExists(false)]])
            let worker = try await fixture.store.registerWorker(node: "a")
            for audience in [Audience.segments(included: ["All"], excluded: []), .filters(everybody)] {
                _ = try await fixture.accept(StoreFixture.start("match-1", audience, alerts: alerts))
                let chunk = try #require(try await fixture.claim(worker))
                #expect(chunk.languages == ["de", nil, nil])
                #expect(chunk.services == [0, 0, 1])
                #expect(try await fixture.claim(worker) == nil)
            }
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            #expect(try await fixture.claim(worker)?.languages == [])
        }
    }

    @Test("survives in a durable commit")
    func isDurable() async throws {
        try await StoreFixture.with(connections: 1) { fixture in
            try await fixture.pool.withConnection { connection in
                _ = try await connection.execute("set synchronous_commit = off")
                let results = try await connection.run([StatementCall(ChunkClaimStatements.durable)])
                #expect(results[0].text(row: 0, column: 0) == "on")
                _ = try await connection.execute("set synchronous_commit = remote_write")
                let kept = try await connection.run([StatementCall(ChunkClaimStatements.durable)])
                #expect(kept[0].text(row: 0, column: 0) == "remote_write")
            }
        }
    }

    @Test("an update's page is of devices that still hold the activity")
    func passesOverEndedDevices() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...4 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            #expect(
                try await fixture.store.endActivity(
                    "match-1", device: .pushToken(StoreFixture.pushToken(2)), application: fixture.application.id))
            let old = try await fixture.deviceNumber(3)
            try await fixture.session.execute(
                "update update_token set started_at = started_at - 9 * 3600 where device_id = \(old)")
            let worker = try await fixture.store.registerWorker(node: "a")
            let update = try await fixture.accept(.update, of: "match-1")
            let first = try await fixture.deviceNumber(1)
            let fourth = try await fixture.deviceNumber(4)
            #expect(try await fixture.deliverEverything(worker)[update.id] == [first, fourth])
            let end = try await fixture.accept(.end, of: "match-1")
            #expect(try await fixture.deliverEverything(worker)[end.id] == [first, old, fourth])
        }
    }

    @Test("prefers retries, then lists, then what was abandoned, then fresh pages")
    func prefers() async throws {
        try await StoreFixture.with { fixture in
            let subscription = try await fixture.addDevice(1)
            for number in 2...9 { try await fixture.addDevice(number) }
            for number in 1...2 { try await fixture.hold("match-2", device: number) }
            let lost = try await fixture.store.registerWorker(node: "lost")
            let worker = try await fixture.store.registerWorker(node: "a")
            let fresh = try await fixture.accept(StoreFixture.start("match-1"))
            let update = try await fixture.accept(.update, of: "match-2")
            let retried = try #require(try await fixture.claim(worker, 2))
            #expect(retried.id.notification == fresh.id)
            let abandoned = try #require(try await fixture.claim(lost, 2))
            #expect(abandoned.id.notification == update.id)
            try await fixture.store.releaseLease(of: lost)
            let listed = try await fixture.accept(StoreFixture.start("match-3", .subscriptions([subscription])))
            var record = ChunkRecord(chunk: retried.id, event: .start)
            record.retries = retried.devices.map {
                RetryRecord(device: $0, attempt: 1, notBefore: UnixMilliseconds(rawValue: 0))
            }
            #expect(try await fixture.store.record([record], worker: worker) == [])
            var order: [NotificationID] = []
            while let chunk = try await fixture.claim(worker, 2), order.count < 4 {
                order.append(chunk.id.notification)
                #expect(chunk.isRetry == (order.count == 1))
            }
            #expect(order == [fresh.id, listed.id, update.id, fresh.id])
        }
    }
}
