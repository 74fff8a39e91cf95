import Gateway
import HTTP
import JSON

/// What dashboards read of live notifications.
struct LiveNotificationReading: Sendable {
    /// Entries of a page: when the request does not say, and at most. A page of instances is read with their states, of 4 KB each.
    static let defaultLimit = 50
    static let limits = 1...100

    let instances: any InstanceLedger

    /// One live notification with its newest delivery.
    func instance(_ parameter: String, _ application: Application) async throws(Refusal) -> HTTPResponse {
        let id = try Self.id(parameter)
        let found = try await Refusal.catching { () async throws(StorageError) in
            try await instances.instance(id, application: application.id)
        }
        guard let found else { throw .unknownInstance }
        return .json(status: 200) { found.writeMembers(to: &$0) }
    }

    /// Every operation on a live notification, the newest first.
    func deliveries(_ request: HTTPRequest, _ parameter: String, _ application: Application) async throws(Refusal) -> HTTPResponse
    {
        var checks = try QueryChecks(request)
        let limit = checks.integer("limit", default: Self.defaultLimit, in: Self.limits)
        let after = checks.cursor(of: .instanceDeliveries).map(InstanceID.init)
        try checks.finish()
        let id = try Self.id(parameter)
        let page = try await Refusal.catching { () async throws(StorageError) in
            try await instances.deliveries(of: id, after: after, limit: limit, application: application.id)
        }
        guard let page else { throw .unknownInstance }
        let next = page.hasMore ? page.elements.last.map { Cursor(list: .instanceDeliveries, behind: $0.id) } : nil
        return .json(status: 200) { writer in
            writer.member("instance_id", "\(id)")
            writer.key("deliveries")
            writer.beginArray()
            for delivery in page.elements {
                writer.beginObject()
                delivery.writeMembers(to: &writer)
                writer.member("notification_id", delivery.notification.map { "\($0)" })
                writer.member("delivered", delivery.deliveredCount)
                writer.member("opened", delivery.openedCount)
                writer.endObject()
            }
            writer.endArray()
            writer.member("next_cursor", next?.text)
        }
    }

    /// The live notifications of a profile, the newest first.
    func instances(_ request: HTTPRequest, _ application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try QueryChecks(request)
        let profile = Self.profile(&checks)
        let limit = checks.integer("limit", default: Self.defaultLimit, in: Self.limits)
        let after = checks.cursor(of: .instances).map(InstanceID.init)
        try checks.finish()
        let page = try await Refusal.catching { () async throws(StorageError) in
            try await joinedPage(of: profile ?? [], after: after, limit: limit, application.id)
        }
        let next = page.hasMore ? page.elements.last.map { Cursor(list: .instances, behind: $0.id) } : nil
        return .json(status: 200) { writer in
            writer.key("live_notifications")
            writer.beginArray()
            for instance in page.elements {
                writer.beginObject()
                instance.writeMembers(to: &writer)
                writer.endObject()
            }
            writer.endArray()
            writer.member("next_cursor", next?.text)
        }
    }

    /// Puts the pages of all names of a profile together: a start by e-mail address is found under that name, what a device that calls
    /// its user by that address started under the other.
    private func joinedPage(
        of profile: [AliasReference], after: InstanceID?, limit: Int, _ application: ApplicationID
    ) async throws(StorageError) -> InstancePage<Instance> {
        var found: [InstanceID: Instance] = [:]
        var hasMore = false
        for reference in profile {
            let page = try await instances.instances(of: reference, after: after, limit: limit, application: application)
            for instance in page.elements { found[instance.id] = instance }
            hasMore = hasMore || page.hasMore
        }
        let newest = found.values.sorted { ($0.id.value.high, $0.id.value.low) > ($1.id.value.high, $1.id.value.low) }
        return InstancePage(elements: Array(newest.prefix(limit)), hasMore: hasMore || newest.count > limit)
    }

    /// Every kind of live notification that the app has.
    func types(_ application: Application) async throws(Refusal) -> HTTPResponse {
        let types = try await Refusal.catching { () async throws(StorageError) in
            try await instances.notificationTypes(application: application.id)
        }
        return .json(status: 200) { writer in
            writer.key("notification_types")
            writer.beginArray()
            for type in types {
                writer.beginObject()
                writer.member("identifier", type.identifier)
                writer.member("attributes_type", type.attributesType)
                writer.member("friendly_name", type.friendlyName)
                writer.endObject()
            }
            writer.endArray()
        }
    }

    /// Gives a kind of live notification a name for people.
    func name(_ identifier: String, _ friendlyName: String?, _ application: Application) async throws(Refusal) -> HTTPResponse {
        let isKnown = try await Refusal.catching { () async throws(StorageError) in
            try await instances.name(friendlyName, notificationType: identifier, application: application.id)
        }
        guard isKnown else { throw .unknownNotificationType }
        return .json(status: 200) { writer in
            writer.member("identifier", identifier)
            writer.member("friendly_name", friendlyName)
        }
    }

    // MARK: Parameters

    private static func id(_ parameter: String) throws(Refusal) -> InstanceID {
        try Refusal.reading(parameter, as: "instance_id", FieldRule.instanceID)
    }

    private static func profile(_ checks: inout QueryChecks) -> [AliasReference]? {
        guard let text = checks.text("profile") else {
            checks.report("profile", .missing)
            return nil
        }
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard parts.count == 2, let name = ProfileName(rawValue: parts[0]) else {
            let names = ProfileName.allCases.map(\.rawValue).joined(separator: ", ")
            checks.report("profile", .notOneOf("LABEL:VALUE with one of the labels \(names)"))
            return nil
        }
        do throws(FieldProblem) { return try name.references(to: parts[1]) } catch {
            checks.report("profile", error)
            return nil
        }
    }
}

extension Instance {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("instance_id", "\(id)")
        writer.member("notification_type", notificationType)
        // A start that named none reaches iOS devices: there are no others yet.
        writer.member("platform", (platform ?? .ios).name)
        writer.member("state", state.rawValue)
        writer.member("failure_reason", failureReason)
        writer.member("started_at", startedAt)
        writer.member("ended_at", endedAt)
        writer.member("expires_at", expiresAt)
        writer.key("last_delivery")
        guard let lastDelivery else { return writer.null() }
        writer.beginObject()
        lastDelivery.writeMembers(to: &writer)
        writer.endObject()
    }
}

extension InstanceDelivery {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("id", "\(id)")
        writer.member("operation", operation.name)
        writer.member("status", status.rawValue)
        writer.member("source", source.name)
        writer.member("failure_reason", failureReason)
        writer.member("created_at", createdAt)
    }
}

extension Cursor {
    fileprivate init(list: List, behind id: InstanceID) { self.init(list: list, words: [id.value.high, id.value.low]) }
}

extension InstanceID {
    fileprivate init(_ cursor: Cursor) { self.init(UUID(high: cursor.words[0], low: cursor.words[1])) }
}

extension Refusal {
    static let unknownNotificationType = Refusal.notFound("There is no notification type of this identifier.")
}
