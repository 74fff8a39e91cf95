import APNsSimulator
import HTTP
import JSON
import TestSupport
import Testing

@Suite("An app whose starts pile up", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5)))
struct BackPressureTests {
    private static let key = #","idempotency_key":"7b1f4a52-3c1d-4e8f-9a6b-0c2d4e6f8a10""#

    @Test("is told to come back later with its starts, and may still update and end")
    func isTold() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...2)
            try await gateway.registerUpdateTokens(1...2, activity: "running")
            // As many starts as may be, all of them waiting for another try in an hour.
            try await gateway.execute(
                """
                with stalled as (
                    insert into fan_out (notification_id, app_id, activity_number, event, type_id, has_languages, is_carved)
                    select new_time_ordered_id(), app_id, 1, 0, type_id, false, true
                    from activity_type, generate_series(1, 1000)
                    returning notification_id)
                insert into delivery_retry select notification_id, 1, 1, true, now() + interval '1 hour' from stalled
                """)
            let refused = try await gateway.start("match-1", more: Self.key)
            #expect(refused.status == 503)
            #expect(refused.headers["retry-after"] == "30")
            #expect(refused.json?["errors"]?.elements.count == 1, "\(refused.text)")
            #expect(try await gateway.push("update", "running").status == 201)
            #expect(try await gateway.push("end", "running").status == 201)
            #expect(gateway.pushes(.start).isEmpty)

            try await gateway.execute("delete from delivery_retry; update fan_out set finished_at = now() where event = 0")
            let start = try await gateway.start("match-1", more: Self.key)
            #expect(start.status == 201 && start.headers["idempotent-replayed"] == nil)
            #expect(try await gateway.waitUntilFinished(try #require(start["id"])).number("accepted") == 2)
        }
    }
}
