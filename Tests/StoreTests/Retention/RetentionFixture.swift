import Gateway
import PostgreSQL
import Testing

@testable import Store

extension StoreFixture {
    /// One round of upkeep as it would be so many hours from now; it keeps 30 days.
    @discardableResult
    func maintain(hoursAhead hours: Int64, retentionDays: Int = 30, store: Store? = nil) async throws -> UpkeepReport {
        let now = try #require(try await number("select unix_seconds(now())"))
        return try await (store ?? self.store).maintain(
            retentionDays: retentionDays, at: UnixMilliseconds(rawValue: (now + hours * 3_600) * 1_000))
    }

    func partitions(of table: String) async throws -> Int64 {
        try await number("select count(*) from pg_inherits where inhparent = $1::text::regclass", [.text(table)]) ?? 0
    }

    /// A start to two devices that has finished, with three taps.
    func finishedStart(_ activityID: String, key: IdempotencyKey? = nil) async throws -> AcceptedNotification {
        for number in 1...2 { try await addDevice(number) }
        let start = try await accept(Self.start(activityID, key: key))
        let worker = try await store.registerWorker(node: "finisher")
        try await deliverEverything(worker)
        for number in [1, 1, 2] {
            _ = try await tap(number, activityID)
        }
        try await store.releaseLease(of: worker)
        return start
    }
}
