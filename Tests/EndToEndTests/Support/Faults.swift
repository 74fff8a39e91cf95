import APNsSimulator
import Foundation
import HTTP
import JSON
import PostgreSQL
import Security
import TestSupport

/// What goes wrong on purpose, and how a test waits for it to show.
extension Deployment {
    // MARK: APNs

    /// APNs allows few streams a connection and, after `count` pushes, keeps its answers to itself.
    func holdAnswers(after count: Int, streams: UInt32 = 50) async throws {
        try await simulator.changeSettings { $0.concurrentStreams = streams }
        var condition = Rule.Condition()
        condition.after = count
        var effect = Rule.Effect()
        effect.isHeld = true
        simulator.script(effect, when: condition)
    }

    /// APNs is itself again, and answers what it held.
    func releaseAnswers() async throws {
        simulator.removeRules()
        try await simulator.changeSettings { $0.concurrentStreams = 1_000 }
        await simulator.release()
    }

    // MARK: Daemons

    /// Kills the newest daemon as a crash does, and has it count as gone at once instead of when its lease has run out.
    func crashDaemon() async throws {
        let node = "%/\(daemon.processID)/%"
        await daemon.crash()
        try await execute("update worker set lease_until = now(), lost_at = now() where node like '\(node)'")
    }

    /// Waits until a daemon that was told to stop takes no connections any more.
    func waitUntilClosed(_ daemon: RunningProgram) async throws {
        let client = try client(of: daemon)
        while (try? await client.send("GET", "/livez")) != nil {}
    }

    /// Waits until a daemon has logged a text so often.
    func waitForLog(_ text: String, count: Int = 1, of daemon: RunningProgram? = nil) async throws {
        let daemon = daemon ?? self.daemon
        let deadline = ContinuousClock.now + .seconds(30)
        while daemon.errors.components(separatedBy: text).count <= count {
            guard ContinuousClock.now < deadline else {
                throw RunningProgram.Failure(description: "not logged in 30 s: \(text)\n\(daemon.errors)")
            }
            await Task.yield()
        }
    }

    func execute(_ sql: String) async throws { _ = try await withSession { try await $0.execute(sql) } }

    /// The start tokens of devices whose delivery ended with that status.
    func startTokens(withStatus status: Int) async throws -> Set<String> {
        let sql = "select encode(token, 'hex') from delivery join start_token using (device_id) where status = \(status)"
        return try await withSession { session in
            let rows = try await session.queryUnprepared(sql, [])
            return Set((0..<rows.rowCount).map { rows.text(row: $0, column: 0) })
        }
    }

    func withSession<Value>(_ body: (DatabaseConnection) async throws -> Value) async throws -> Value {
        let options = try DatabaseOptions(url: environment["OPENPUSH_DATABASE_URL"] ?? "")
        let session = try await DatabaseConnection.connect(loop: TestDatabase.loop, options: options)
        do {
            let value = try await body(session)
            await session.close()
            return value
        } catch {
            await session.close()
            throw error
        }
    }
}

extension Answer {
    /// The totals that partition the devices of a notification.
    var ended: Int64 { (number("accepted") ?? 0) + (number("failed") ?? 0) + (number("unknown") ?? 0) }
}
