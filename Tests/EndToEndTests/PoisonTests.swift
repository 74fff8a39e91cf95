import Foundation
import HTTP
import TestSupport
import Testing

@Suite("A stored start that this version cannot read", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5)))
struct PoisonTests {
    private static let identifier = "5b7c2f1e-3f62-4e0a-9a86-0f4c1d2e3a4b"

    @Test("stops no other, is told to the operator once, and goes on with a daemon that can read it")
    func stopsNoOther() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...3)
            try await gateway.execute(
                """
                with begun as (
                    insert into activity (app_id, activity_id, type_id)
                    select app_id, 'future', type_id from activity_type
                    returning activity_number, app_id, type_id),
                stored as (
                    insert into notification
                        (notification_id, public_id, app_id, activity_number, event, type_id, name, content, push_timestamp,
                            expires_at)
                    select new_time_ordered_id(), '\(Self.identifier)', app_id, activity_number, 0, type_id, 'future',
                        '{"attributes_type":"\(Deployment.activityType)","attributes":{},"content_state":{},"alerts":[],"priority":10}',
                        unix_seconds(now()), unix_seconds(now()) + 3600
                    from begun
                    returning notification_id, app_id, activity_number, type_id)
                insert into fan_out (notification_id, app_id, activity_number, event, type_id, audience, has_languages)
                select notification_id, app_id, activity_number, 0, type_id,
                    '{"included":[[["moon_phase","=","full"]]],"excluded":[]}', false
                from stored
                """)
            for number in 1...3 {
                let start = try #require(try await gateway.start("match-\(number)")["id"])
                #expect(try await gateway.waitUntilFinished(start).number("accepted") == 3)
            }
            #expect(gateway.daemon.errors.components(separatedBy: "A fan-out is set aside").count == 2)
            let metrics = try await gateway.send("GET", "/metrics", key: nil)
            #expect(metrics.text.contains("\nopenpush_fan_outs_set_aside 1\n"), "\(metrics.text)")
            #expect(try await gateway.summary(of: Self.identifier)["state"] == "pending")

            try await gateway.execute("update fan_out set audience = null where audience is not null")
            #expect(await gateway.daemon.terminate() == 0)
            try await gateway.startDaemon()
            #expect(try await gateway.waitUntilFinished(Self.identifier).number("accepted") == 3)
            #expect(gateway.pushes().values.allSatisfy { $0 == 4 })
        }
    }
}
