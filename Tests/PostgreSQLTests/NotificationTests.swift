@testable import PostgreSQL
import TestSupport
import Testing

@Suite("Notification listener", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(1))) struct NotificationTests {
    @Test("wakes for NOTIFY, and again once it is back") func wakes() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let (events, continuation) = AsyncStream.makeStream(of: DatabaseNotification?.self)
            let listener = NotificationListener(
                loop: TestDatabase.loop, options: database.options, channels: ["work", "other"], wake: { continuation.yield($0) })
            await listener.start()
            var event = events.makeAsyncIterator()
            #expect(await event.next() == .some(nil))
            let connection = try await database.connect()
            try await connection.execute("NOTIFY work, 'chunk'")
            #expect(await event.next() == DatabaseNotification(channel: "work", payload: "chunk"))

            try await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
            #expect(await event.next() == .some(nil))
            try await connection.execute("NOTIFY other")
            #expect(await event.next() == DatabaseNotification(channel: "other", payload: ""))
            await listener.stop()
        }
    }
}
