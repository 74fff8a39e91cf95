import Gateway
import JSON
import PostgreSQL

/// What a fan-out came to, from a row of `InstanceReadingStatements.totals`.
private struct FanOutTotals {
    static let columnCount = 7

    let targetedCount: Int64
    let acceptedCount: Int64
    let unknownCount: Int64
    let isFinished: Bool
    let isSuperseded: Bool
    let commonestReason: DeliveryReason?
    let notification: UUID

    /// Nil where there is no fan-out.
    init?(_ rows: QueryResult, row: Int, firstColumn: Int) throws(StorageError) {
        guard !rows.isNull(row: row, column: firstColumn) else { return nil }
        targetedCount = rows.int64(row: row, column: firstColumn)
        acceptedCount = rows.int64(row: row, column: firstColumn + 1)
        unknownCount = rows.int64(row: row, column: firstColumn + 2)
        isFinished = rows.bool(row: row, column: firstColumn + 3)
        isSuperseded = rows.bool(row: row, column: firstColumn + 4)
        guard let reasons = try? JSONDocument(parsing: rows.jsonb(row: row, column: firstColumn + 5)).root else {
            throw .refused(sqlState: SQLStates.unreadableValue)
        }
        let commonest = reasons.members.max { ($0.value.integer ?? 0) < ($1.value.integer ?? 0) }
        commonestReason = commonest.flatMap { Int16($0.key) }.map { DeliveryReason(rawValue: $0) }
        notification = rows.uuid(row: row, column: firstColumn + 6)
    }

    var status: InstanceDeliveryStatus {
        let status = InstanceDeliveryStatus(
            targetedCount: targetedCount, acceptedCount: acceptedCount, unknownCount: unknownCount, isFinished: isFinished)
        return status == .undeliverable && isSuperseded ? .failed : status
    }

    /// Why it reached nobody; nil when it did or may still.
    var failure: String? {
        switch status {
        case .queued, .sent: nil
        case .undeliverable: Store.noTokenFailure
        case .failed where isSuperseded: "a newer state took its place before it was sent"
        case .failed: "no push was accepted: \(commonestReason?.name ?? "unknown")"
        }
    }
}

extension InstanceDelivery {
    /// What `InstanceReadingStatements.deliveryColumns` names.
    fileprivate static let columnCount = 8 + FanOutTotals.columnCount

    /// Nil where there is none.
    fileprivate init?(_ rows: QueryResult, row: Int, firstColumn: Int) throws(StorageError) {
        guard !rows.isNull(row: row, column: firstColumn) else { return nil }
        guard let operation = ActivityEvent(rawValue: rows.int16(row: row, column: firstColumn + 1)),
            let source = InstanceSource(rawValue: rows.int16(row: row, column: firstColumn + 2))
        else { throw .refused(sqlState: SQLStates.unreadableValue) }
        let totals = try FanOutTotals(rows, row: row, firstColumn: firstColumn + 8)
        let failure = rows.optionalText(row: row, column: firstColumn + 3)
        // A device did it itself; or what became of it is no longer kept.
        let status = failure != nil ? .undeliverable : totals?.status ?? .sent
        self.init(
            id: InstanceID(rows.uuid(row: row, column: firstColumn)), operation: operation, source: source, status: status,
            failureReason: failure ?? totals?.failure, createdAt: rows.int64(row: row, column: firstColumn + 4),
            notification: totals?.notification, deliveredCount: rows.int64(row: row, column: firstColumn + 5),
            openedCount: rows.int64(row: row, column: firstColumn + 6))
    }
}

extension Instance {
    /// A row of `InstanceReadingStatements.instance`.
    fileprivate init(_ rows: QueryResult, row: Int) throws(StorageError) {
        let startColumn = 11
        let start = try FanOutTotals(rows, row: row, firstColumn: startColumn)
        let endedAt = rows.optionalInt64(row: row, column: 5)
        // A start that an end overtook has not failed.
        let startFailure =
            endedAt == nil ? start.flatMap { $0.status == .undeliverable ? Store.nobodyFailure : $0.failure } : nil
        let failure = rows.optionalText(row: row, column: 3) ?? startFailure
        let expiresAt = rows.int64(row: row, column: 6)
        self.init(
            id: InstanceID(rows.uuid(row: row, column: 0)), notificationType: rows.text(row: row, column: 1),
            platform: rows.isNull(row: row, column: 2) ? nil : DevicePlatform(rawValue: rows.int16(row: row, column: 2)),
            state: InstanceState(
                failure: failure, endedAt: endedAt, expiresAt: expiresAt, now: rows.int64(row: row, column: 10)),
            failureReason: failure, startedAt: rows.int64(row: row, column: 4), endedAt: endedAt, expiresAt: expiresAt,
            attributes: rows.bytes(row: row, column: 7), contentState: rows.bytes(row: row, column: 8),
            deepLink: rows.optionalText(row: row, column: 9),
            lastDelivery: try InstanceDelivery(rows, row: row, firstColumn: startColumn + FanOutTotals.columnCount))
    }
}

extension Store {
    func readInstance(_ id: InstanceID, application: ApplicationID) async throws(StorageError) -> Instance? {
        let found = try await query(InstanceReadingStatements.one, [.application(application), .uuid(id.value)])
        return found.rowCount == 1 ? try Instance(found, row: 0) : nil
    }

    func readInstances(of profile: AliasReference, after: InstanceID?, limit: Int, application: ApplicationID)
        async throws(StorageError) -> InstancePage<Instance>
    {
        let found = try await query(
            InstanceReadingStatements.ofProfile,
            [
                .application(application), .text(profile.label), .text(profile.identifier),
                after.map { .uuid($0.value) } ?? .null,
                .int32(Int32(clamping: limit + 1)),
            ])
        var instances: [Instance] = []
        for row in 0..<min(found.rowCount, limit) { instances.append(try Instance(found, row: row)) }
        return InstancePage(elements: instances, hasMore: found.rowCount > limit)
    }

    func readDeliveries(of id: InstanceID, after: InstanceID?, limit: Int, application: ApplicationID)
        async throws(StorageError) -> InstancePage<InstanceDelivery>?
    {
        let found = try await query(
            InstanceReadingStatements.deliveries,
            [
                .application(application), .uuid(id.value), after.map { .uuid($0.value) } ?? .null,
                .int32(Int32(clamping: limit + 1)),
            ])
        // An instance has a delivery at least; without a page there may still be one.
        if found.rowCount == 0, try await readInstance(id, application: application) == nil { return nil }
        var deliveries: [InstanceDelivery] = []
        for row in 0..<min(found.rowCount, limit) {
            if let delivery = try InstanceDelivery(found, row: row, firstColumn: 0) { deliveries.append(delivery) }
        }
        return InstancePage(elements: deliveries, hasMore: found.rowCount > limit)
    }
}

enum InstanceReadingStatements {
    static let all = [one, ofProfile, deliveries]

    // The chunks are the counters; once a fan-out has finished, their sums are in its row.
    private static func totals(of notification: String, as alias: String) -> String {
        """
        left join lateral (
            select coalesce(chunks.targeted, fan_out.targeted) as targeted, coalesce(chunks.accepted, fan_out.accepted) as accepted,
                coalesce(chunks.unknown, fan_out.unknown) as unknown, fan_out.finished_at is not null as is_finished,
                fan_out.is_superseded, coalesce(chunks.reasons, fan_out.reasons) as reasons, notification.public_id
            from fan_out
                join notification on notification.notification_id = fan_out.notification_id
                left join lateral (
                    select coalesce(sum(chunk.targeted), 0)::bigint as targeted,
                        coalesce(sum(chunk.accepted), 0)::bigint as accepted,
                        coalesce(sum(chunk.unknown), 0)::bigint as unknown, sum_counts(chunk.reasons) as reasons
                    from fan_out_chunk as chunk
                    where chunk.notification_id = fan_out.notification_id) as chunks on fan_out.finished_at is null
            where fan_out.notification_id = \(notification)) as \(alias) on true
        """
    }

    private static func totalColumns(_ alias: String) -> String {
        ["targeted", "accepted", "unknown", "is_finished", "is_superseded", "reasons", "public_id"]
            .map { "\(alias).\($0)" }.joined(separator: ", ")
    }

    private static let deliveryColumns = """
        delivery.delivery_id, delivery.operation, delivery.source, delivery.failure, delivery.created_at, delivery.delivered,
            delivery.opened, delivery.number, \(totalColumns("pushed"))
        """

    private static let instance = """
        select instance.instance_id, instance.notification_type, instance.platform, instance.failure, instance.started_at,
            instance.ended_at, instance.expires_at, instance.attributes, instance.content_state, instance.deep_link,
            unix_seconds(clock_timestamp()), \(totalColumns("begun")), \(deliveryColumns)
        from live_instance as instance
            left join live_delivery as delivery on delivery.app_id = instance.app_id
                and delivery.instance_id = instance.instance_id and delivery.number = instance.delivery_count
            \(totals(of: "instance.start_notification", as: "begun"))
            \(totals(of: "delivery.notification_id", as: "pushed"))
        """

    /// App, instance.
    static let one = Statement(
        name: "instance_one", text: "\(instance)\nwhere instance.app_id = $1 and instance.instance_id = $2")

    /// App, profile's label and identifier, instance behind which to begin or null, most.
    static let ofProfile = Statement(
        name: "instance_of_profile",
        text: """
            \(instance)
            where instance.app_id = $1 and instance.profile_label = $2 and instance.profile_identifier = $3
                and ($4::uuid is null or instance.instance_id < $4)
            order by instance.instance_id desc
            limit $5
            """)

    /// App, instance, delivery behind which to begin or null, most.
    static let deliveries = Statement(
        name: "instance_deliveries",
        text: """
            select \(deliveryColumns)
            from live_delivery as delivery
                \(totals(of: "delivery.notification_id", as: "pushed"))
            where delivery.app_id = $1 and delivery.instance_id = $2 and ($3::uuid is null or delivery.number < (
                select number from live_delivery where app_id = $1 and instance_id = $2 and delivery_id = $3))
            order by delivery.number desc
            limit $4
            """)
}
