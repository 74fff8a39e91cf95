import APNsSimulator
import HTTP
import JSON
import PostgreSQL
import TestSupport
import Testing

@Suite("While the database is away", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct DatabaseAwayTests {
    /// Every route that needs it.
    private static func calls(_ gateway: Deployment) -> [(method: String, path: String, key: String, body: String)] {
        let app = gateway.app
        let device = #""push_token":"\#(Deployment.token("device", 1))""#
        let activity = #""activity_id":"match-1""#
        return [
            (
                "POST", "/apps/\(app.id)/activities/activity/\(Deployment.activityType)", app.restKey,
                """
                {"event":"start",\(activity),"name":"n","event_attributes":{"a":1},"event_updates":{"a":1},\
                "headings":{"en":"h"},"contents":{"en":"c"},"included_segments":["All"]}
                """
            ),
            (
                "POST", "/apps/\(app.id)/live_activities/match-1/notifications", app.restKey,
                #"{"event":"update","name":"n","event_updates":{"a":1}}"#
            ),
            (
                "POST", "/apps/\(app.id)/segments", app.restKey,
                #"{"name":"S","filters":[{"field":"language","relation":"=","value":"de"}]}"#
            ),
            ("POST", "/v1/devices", app.clientKey, #"{\#(device),"platform":"ios","environment":"production"}"#),
            ("POST", "/v1/live-activities/update-tokens", app.clientKey, #"{\#(device),\#(activity),"token":"ab"}"#),
            ("POST", "/v1/live-activities/start-tokens", app.clientKey, #"{\#(device),"activity_type":"T","token":"ab"}"#),
            ("DELETE", "/v1/live-activities/start-tokens", app.clientKey, #"{\#(device),"activity_type":"T"}"#),
            ("POST", "/v1/live-activities/clicks", app.clientKey, #"{\#(device),\#(activity)}"#),
            ("POST", "/v1/live-activities/ends", app.clientKey, #"{\#(device),\#(activity)}"#),
            ("GET", "/v1/notifications", app.readKey, ""),
            ("GET", "/v1/notifications/7b1f4a52-3c1d-4e8f-9a6b-0c2d4e6f8a10", app.readKey, ""),
            ("GET", "/v1/activities/match-1", app.readKey, ""),
        ]
    }

    private func expectAway(_ gateway: Deployment, within limit: Duration = .seconds(2)) async throws {
        for call in Self.calls(gateway) {
            let begin = ContinuousClock.now
            let answer = try await gateway.send(call.method, call.path, key: call.key, body: call.body)
            let duration = begin.duration(to: .now)
            #expect(answer.status == 503, "\(call.method) \(call.path): \(answer.status) \(answer.text)")
            #expect(Int(answer.headers["retry-after"] ?? "") ?? 0 > 0, "\(call.path)")
            #expect(duration < limit, "\(call.path): \(duration)")
        }
        #expect(try await gateway.send("GET", "/livez", key: nil).status == 200)
        let begin = ContinuousClock.now
        let ready = try await gateway.send("GET", "/readyz", key: nil)
        #expect(ready.status == 503)
        #expect(begin.duration(to: .now) < limit)
        #expect(ready.text.contains("database"), "\(ready.text)")
    }

    private func waitUntilReady(_ gateway: Deployment, _ isExpected: (Answer) -> Bool = { $0.status == 200 }) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            let answer = try await gateway.send("GET", "/readyz", key: nil)
            if isExpected(answer) { return }
            guard ContinuousClock.now < deadline else {
                throw RunningProgram.Failure(description: "/readyz after 30 s: \(answer.status) \(answer.text)")
            }
        }
    }

    private func withCluster(_ body: (PrivateCluster) async throws -> Void) async throws {
        let cluster = try await PrivateCluster.start()
        do { try await body(cluster) } catch {
            await cluster.remove()
            throw error
        }
        await cluster.remove()
    }

    @Test("every route that needs it says so within 2 s, and the daemon heals without a restart, losing nothing it accepted")
    func heals() async throws {
        try await withCluster { cluster in
            try await Deployment.run(databaseURL: cluster.url) { gateway in
                try await gateway.registerDevices(1...120)
                try await gateway.holdAnswers(after: 40)
                let start = try #require(try await gateway.start("match-1")["id"])
                #expect(await gateway.simulator.waitForRequests(90).count == 90)
                let process = gateway.daemon.processID

                try await cluster.stop()
                try await expectAway(gateway)
                try await gateway.releaseAnswers()
                try await cluster.start()
                try await waitUntilReady(gateway)

                let totals = try await gateway.waitUntilFinished(start)
                #expect(totals.number("accepted") == 120, "\(totals.text)")
                #expect(gateway.pushes().count == 120)
                #expect(gateway.pushes().values.allSatisfy { $0 == 1 })
                #expect(try await gateway.start("match-2").status == 201)
                #expect(gateway.daemon.processID == process)
            }
        }
    }

    @Test("because its server does not answer, every route says so soon as well")
    func boundsTheWaitForASilentServer() async throws {
        try await withCluster { cluster in
            try await Deployment.run(databaseURL: cluster.url) { gateway in
                try await gateway.registerDevices(1...1)
                try await cluster.freeze()
                // Most of it is the patience with a server that may only be slow; this machine may be as well.
                try await expectAway(gateway, within: .seconds(3))
                try await cluster.thaw()
                try await waitUntilReady(gateway)
                #expect(try await gateway.start("match-1").status == 201)
            }
        }
    }

    @Test("because its server became a standby, every route says so, /readyz and the doctor why, until it is the primary again")
    func namesAStandby() async throws {
        try await withCluster { cluster in
            try await Deployment.run(databaseURL: cluster.url) { gateway in
                try await gateway.registerDevices(1...1)
                try await cluster.becomeStandby()
                try await waitUntilReady(gateway) { $0.status == 503 && $0.text.contains("takes no writes") }
                try await expectAway(gateway)
                let doctor = try await gateway.control("doctor", "--app", gateway.app.id)
                #expect(doctor.status == 69)
                #expect(doctor.errors.contains("takes no writes"), "\(doctor.errors)")
                try await promote(cluster)
                try await waitUntilReady(gateway)
                #expect(try await gateway.start("match-1").status == 201)
            }
        }
    }

    private func promote(_ cluster: PrivateCluster) async throws {
        let options = try DatabaseOptions(url: cluster.url + "?target_session_attrs=any")
        let session = try await DatabaseConnection.connect(loop: TestDatabase.loop, options: options)
        try await session.execute("select pg_promote()")
        await session.close()
    }

    @Test("a daemon starts all the same, and serves once the database is there")
    func startsWithout() async throws {
        try await withCluster { cluster in
            try await Deployment.run(daemons: 0, databaseURL: cluster.url) { gateway in
                try await cluster.stop()
                try await gateway.startDaemon()
                try await expectAway(gateway)
                try await cluster.start()
                try await waitUntilReady(gateway)
                try await gateway.registerDevices(1...1)
                #expect(try await gateway.start("match-1").status == 201)
            }
        }
    }
}
