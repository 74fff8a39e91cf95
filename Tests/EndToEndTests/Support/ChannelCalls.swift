import APNsSimulator
import Foundation
import HTTP
import JSON
import PostgreSQL
import Security
import TestSupport
import Testing

/// Broadcast channels of a gateway.
extension Deployment {
    /// Switches channels on for the app.
    func switchChannels(_ state: String = "on") async throws {
        let result = try await control("app", "set", app.id, "--broadcast-channels", state)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.answer?["broadcast_channels"]?.bool == (state == "on"))
    }

    /// A device with a start token.
    func registerDevice(_ number: Int, os version: String, environment: String = "production") async throws {
        let device = Self.token("device", number)
        let registered = try await send(
            "POST", "/v1/devices", key: app.clientKey,
            body:
                #"{"push_token":"\#(device)","platform":"ios","environment":"\#(environment)","os_version":"\#(version)"}"#)
        #expect([200, 201].contains(registered.status), "\(registered.text)")
        let token = try await send(
            "POST", "/v1/live-activities/start-tokens", key: app.clientKey,
            body:
                #"{"push_token":"\#(device)","activity_type":"\#(Self.activityType)","token":"\#(Self.token("start", number))"}"#)
        #expect(token.status == 200, "\(token.text)")
    }

    /// Waits until a condition of the database holds; each look is a round trip, and the bound is generous.
    func waitUntil(_ condition: String, _ comment: String = "") async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let holds = try await withSession { session in
                try await session.queryUnprepared("select coalesce((\(condition)), false)", []).bool(row: 0, column: 0)
            }
            if holds { return }
            guard ContinuousClock.now < deadline else {
                throw RunningProgram.Failure(description: "not within 60 s: \(condition) \(comment)\n\(daemon.errors)")
            }
        }
    }

    /// Waits until so many channels are ready.
    func waitForFreeChannels(_ count: Int = 2) async throws {
        try await waitUntil("select count(*) = \(count) from channel where state = 1")
    }

    /// The channels that are there at Apple's.
    var liveChannels: [ChannelRecord] { simulator.channels().filter { !$0.isDeleted } }

    /// The channel an activity has in an environment, as dashboards read it.
    func channel(of activity: String, in environment: String = "production") async throws -> String? {
        let answer = try await send("GET", "/v1/activities/\(activity)", key: app.readKey)
        let channels = answer.json?["channels"]?.elements ?? []
        return channels.first { $0["environment"]?.string == environment }?["channel_id"]?.string
    }

    /// A rule for requests that want this of channels.
    func script(_ operation: ChannelOperation, count: Int? = 1, _ change: (inout Rule.Effect) -> Void) {
        var rule = Rule(Rule.Effect())
        rule.condition.operation = operation
        rule.condition.count = count
        change(&rule.effect)
        simulator.add([rule])
    }

    /// Time passes: what a dead daemon was about to do is over.
    func endChannelLeases() async throws {
        try await execute(
            """
            update channel set busy_until = now() - interval '1 second' where busy_until is not null;
            update channel_place set kept_until = '-infinity', listing_until = '-infinity';
            """)
    }

    /// Time passes: activities are long over, and what Apple keeps of them as well.
    func letActivitiesAge() async throws {
        try await execute(
            "update activity set ended_at = ended_at - interval '9 hours' where ended_at > now() - interval '9 hours'")
    }

    /// Waits until everything that is at Apple's is known and wanted, and nothing else is written down.
    func expectNoLeak(used: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await waitUntil(
            """
            select count(*) filter (where state = 1) = 2 and count(*) filter (where state = 2) = \(used) and count(*) = \(used + 2)
            from channel
            """)
        let known = try await withSession { session in
            let rows = try await session.queryUnprepared("select channel_id from channel", [])
            return Set((0..<rows.rowCount).map { rows.text(row: $0, column: 0) })
        }
        #expect(Set(liveChannels.map(\.identifier)) == known, sourceLocation: sourceLocation)
        // None was used twice: each took the messages of one activity, one after the other.
        #expect(
            simulator.channels().allSatisfy { $0.fallingTimestampCount == 0 && $0.afterEndCount == 0 },
            sourceLocation: sourceLocation)
    }
}
