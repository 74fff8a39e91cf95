import PostgreSQL
import TestSupport
import Testing

@Suite("Audiences that take long to count", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(3)))
struct LongCountTests {
    @Test("keep nothing else waiting: devices register, notifications are read, and the daemon stays ready")
    func starveNobody() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...1)
            let preview = #"{"activity_type":"\#(Deployment.activityType)","included_segments":["All"]}"#
            try await gateway.withSession { session in
                try await session.execute("begin; lock table segment in access exclusive mode")
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<40 {
                        group.addTask {
                            try await gateway.send("POST", "/v1/audiences/preview", key: gateway.app.restKey, body: preview)
                                .status
                        }
                    }
                    // One that found every connection for counts busy: all are taken now.
                    #expect(try await group.next() == 503)
                    try await gateway.registerDevices(2...2)
                    #expect(try await gateway.send("GET", "/v1/notifications", key: gateway.app.readKey).status == 200)
                    #expect(try await gateway.send("GET", "/readyz", key: nil).status == 200)
                    try await session.execute("rollback")
                    for try await status in group { #expect(status == 200 || status == 503) }
                }
            }
        }
    }
}
