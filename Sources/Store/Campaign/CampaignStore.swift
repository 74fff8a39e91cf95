import Gateway
import JSON
import PostgreSQL

/// Campaigns as they are stored.
extension Store {
    func readCampaign(named name: String, application: ApplicationID) async throws(StorageError) -> Campaign? {
        let found = try await query(
            CampaignStatements.named,
            [.application(application), .text(name), UUID(name).map { .uuid($0) } ?? .null])
        return try await campaigns(found, application: application).first
    }

    func readCampaigns(of application: ApplicationID) async throws(StorageError) -> [Campaign] {
        try await campaigns(try await query(CampaignStatements.list, [.application(application)]), application: application)
    }

    private func campaigns(_ rows: QueryResult, application: ApplicationID) async throws(StorageError) -> [Campaign] {
        var audiences: [StoredCampaignAudience] = []
        for row in 0..<rows.rowCount {
            guard let audience = StoredCampaignAudience(json: rows.bytes(row: row, column: 5)) else {
                throw .refused(sqlState: SQLStates.unreadableValue)
            }
            audiences.append(audience)
        }
        let names = try await segmentNames(audiences.flatMap(\.segments), application: application)
        return audiences.enumerated().map { row, audience in
            Campaign(
                number: rows.int64(row: row, column: 0), id: rows.uuid(row: row, column: 1),
                liveActivityID: rows.optionalText(row: row, column: 2), name: rows.text(row: row, column: 3),
                createdBy: rows.text(row: row, column: 4), audience: audience.audience(names: names),
                createdAt: rows.milliseconds(row: row, column: 6),
                channels: Dictionary(
                    uniqueKeysWithValues: (ActivityChannel.list(rows, row: row, column: 8) ?? []).map {
                        ($0.environment, $0.identifier)
                    }),
                runningInstance: rows.optionalText(row: row, column: 7))
        }
    }

    private func segmentNames(_ segments: [UUID], application: ApplicationID) async throws(StorageError) -> [UUID: String] {
        guard !segments.isEmpty else { return [:] }
        let found = try await query(
            CampaignStatements.segments,
            [.application(application), .textArray([]), .uuidArray(segments.uniqued().map(\.bytes))])
        return Self.segments(found)
    }

    private static func segments(_ rows: QueryResult) -> [UUID: String] {
        Dictionary(
            uniqueKeysWithValues: (0..<rows.rowCount).map { (rows.uuid(row: $0, column: 0), rows.text(row: $0, column: 1)) })
    }

    func storeCampaign(_ campaign: NewCampaign, application: ApplicationID) async throws(StorageError) -> CampaignCreation {
        let refusal: CampaignCreation?
        let id: UUID?
        (refusal, id) = try await transaction { connection in
            try await self.storeCampaign(campaign, application: application, on: connection)
        }
        if let refusal { return refusal }
        guard let id, let stored = try await readCampaign(named: "\(id)", application: application) else { throw .unavailable }
        return .created(stored)
    }

    /// What names the transactions that create campaigns of an app, one at a time.
    private static let creationLock = "campaigns"

    private func storeCampaign(
        _ campaign: NewCampaign, application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> (refusal: CampaignCreation?, id: UUID?) {
        let app = Parameter.application(application)
        let results = try await connection.run([
            StatementCall(UpdateStatements.lock, [app, .text(Self.creationLock)]),
            StatementCall(CampaignStatements.ofRequest, [app, .text(campaign.requestID)]),
            StatementCall(CampaignStatements.isNamed, [app, Parameter(campaign.liveActivityID)]),
            StatementCall(CampaignStatements.count, [app]),
        ])
        let earlier = results[1]
        if earlier.rowCount == 1 {
            let isSame = earlier.bytes(row: 0, column: 1) == campaign.digest
            return isSame ? (nil, earlier.uuid(column: 0)) : (.duplicateRequest, nil)
        }
        if results[2].bool(row: 0, column: 0) { return (.takenLiveActivityID, nil) }
        if results[3].int64(row: 0, column: 0) >= Int64(CampaignLimits.campaignCount) { return (.tooMany, nil) }
        let audience = try await resolve(campaign.audience, application: application, on: connection)
        guard audience.unknown.isEmpty else { return (.unknownSegments(audience.unknown), nil) }
        let stored = try await connection.query(
            CampaignStatements.create,
            [
                app, .text(campaign.requestID), .bytes(campaign.digest), Parameter(campaign.liveActivityID), .text(campaign.name),
                .text(campaign.createdBy), .text(String(decoding: audience.stored.json, as: UTF8.self)),
                .int16Array(campaign.environments.map(\.rawValue)),
            ])
        return (nil, stored.uuid(column: 1))
    }

    private func resolve(
        _ audience: CampaignAudience, application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> (stored: StoredCampaignAudience, unknown: [SegmentReference]) {
        switch audience {
        case .filters(let definition): return (.filters(definition), [])
        case .everybody, .segments:
            let (included, excluded): ([SegmentReference]?, [SegmentReference]) =
                switch audience {
                case .segments(let included, let excluded): (included, excluded)
                case .everybody(let excluded): (nil, excluded)
                case .filters: (nil, [])
                }
            let all = (included ?? []) + excluded
            let names = all.compactMap { if case .name(let name) = $0 { name } else { nil } }
            let ids = all.compactMap { if case .id(let id) = $0 { id } else { nil } }
            let found = Self.segments(
                try await connection.query(
                    CampaignStatements.segments,
                    [.application(application), .textArray(names), .uuidArray(ids.map(\.bytes))]))
            let byName = Dictionary(found.map { (ExactText($0.value), $0.key) }) { first, _ in first }
            var unknown: [SegmentReference] = []
            /// Nil is everybody, who have a segment's name unless one is stored under it.
            func number(_ reference: SegmentReference) -> UUID?? {
                switch reference {
                case .id(let id): return found[id] == nil ? nil : .some(id)
                case .name(let name):
                    if let id = byName[ExactText(name)] { return .some(id) }
                    return ExactText(name) == Self.everybodySegment ? .some(nil) : nil
                }
            }
            func numbers(_ references: [SegmentReference]) -> [UUID?] {
                var result: [UUID?] = []
                for reference in references {
                    if let id = number(reference) { result.append(id) } else { unknown.append(reference) }
                }
                return result
            }
            let stored = StoredCampaignAudience.segments(
                included: included.map(numbers) ?? [nil], excluded: numbers(excluded))
            return (stored, unknown)
        }
    }
}

/// How an audience is kept in `campaign.audience`. A segment is kept by its identifier, so that a new name does not change who is reached.
enum StoredCampaignAudience: Equatable {
    /// Nil stands for everybody.
    case segments(included: [UUID?], excluded: [UUID?])
    /// The JSON array as it came in.
    case filters([UInt8])

    private static let everybody = "all"

    var segments: [UUID] {
        guard case .segments(let included, let excluded) = self else { return [] }
        return (included + excluded).compactMap { $0 }
    }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        switch self {
        case .segments(let included, let excluded):
            for (name, segments) in [("included", included), ("excluded", excluded)] {
                writer.key(name)
                writer.beginArray()
                for segment in segments { writer.string(segment?.description ?? Self.everybody) }
                writer.endArray()
            }
        case .filters(let definition):
            writer.key("filters")
            writer.raw(definition)
        }
        writer.endObject()
        return writer.bytes
    }

    /// Nil for what this version does not understand.
    init?(json: [UInt8]) {
        guard let root = try? JSONDocument(parsing: json).root else { return nil }
        if let filters = root["filters"] {
            self = .filters(Array(filters.rawBytes))
            return
        }
        guard let included = Self.segments(root["included"]), let excluded = Self.segments(root["excluded"]) else { return nil }
        self = .segments(included: included, excluded: excluded)
    }

    private static func segments(_ list: JSONValue?) -> [UUID?]? {
        guard let list, list.kind == .array else { return nil }
        var segments: [UUID?] = []
        for element in list.elements {
            guard let text = element.string else { return nil }
            if text == everybody {
                segments.append(nil)
            } else {
                guard let id = UUID(text) else { return nil }
                segments.append(id)
            }
        }
        return segments
    }

    /// Nil when a segment is no longer there.
    ///
    /// - Parameter names: what segments are called now.
    func audience(names: [UUID: String]) -> Audience? {
        switch self {
        case .filters(let definition):
            return (try? Store.branches(of: definition)).map { .filters(FilterExpression(branches: $0)) }
        case .segments(let included, let excluded):
            let excluded = excluded.map { $0.map { names[$0] } ?? Store.everybodySegment.text }
            let named = included.compactMap { $0 }.map { names[$0] }
            guard (named + excluded).allSatisfy({ $0 != nil }) else { return nil }
            if included.contains(nil) { return .everybody(excluded: excluded.compactMap { $0 }) }
            return .segments(included: named.compactMap { $0 }, excluded: excluded.compactMap { $0 })
        }
    }
}
