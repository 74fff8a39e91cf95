package import Gateway
import JSON
import PostgreSQL

extension Store: ChannelDirectory {
    /// A channel that was made so lately need not be in Apple's list yet.
    static let channelListingLagSeconds = 60
    /// Channels given up in one look at a place.
    static let retiredChannelCount = 500
    /// Campaigns whose channels are made in one look at a place.
    static let campaignChannelCount = 10

    package func channelCensus(countsOver: Bool) async throws(StorageError) -> [ChannelCensus] {
        let found = try await query(ChannelStatements.census, [.bool(countsOver)])
        let first = Application.columnCount
        return (0..<found.rowCount).map { row in
            func count(_ offset: Int) -> Int { Int(found.int64(row: row, column: first + offset)) }
            var census = ChannelCensus(
                place: ChannelPlace(
                    application: found.application(row: row, firstColumn: 0),
                    environment: PushEnvironment(rawValue: found.int16(row: row, column: first)) ?? .production))
            census.intendedCount = count(1)
            census.unresolvedCount = count(2)
            census.freeCount = count(3)
            census.usedCount = count(4)
            census.leavingCount = count(5)
            census.deletableCount = count(6)
            census.overCount = count(7)
            census.totalCount = count(8)
            census.foreignCount = count(9)
            census.secondsSinceListing = found.optionalInt64(row: row, column: first + 10)
            census.lackingCampaigns = Self.numbers(found, row: row, column: first + 11)
            return census
        }
    }

    package func keep(_ place: ChannelPlace, seconds: Int) async throws(StorageError) -> Bool {
        let results = try await run([
            StatementCall(ChannelStatements.addPlace, place.key),
            StatementCall(ChannelStatements.keep, place.key + [.int32(Int32(seconds))]),
        ])
        return results[1].rowCount == 1
    }

    package func leave(_ place: ChannelPlace) async throws(StorageError) {
        try await query(ChannelStatements.leave, place.key)
    }

    /// A list of whole numbers; none for null.
    private static func numbers(_ rows: QueryResult, row: Int, column: Int) -> [Int64] {
        guard !rows.isNull(row: row, column: column) else { return [] }
        let list = try? JSONDocument(parsing: rows.jsonb(row: row, column: column)).root
        return (list?.elements ?? []).compactMap(\.integer)
    }

    package func intendChannel(_ policy: ChannelStoragePolicy, in place: ChannelPlace, seconds: Int)
        async throws(StorageError) -> ChannelIntent
    {
        try await intend(policy, campaign: nil, in: place, seconds: seconds)
    }

    package func intendChannel(_ policy: ChannelStoragePolicy, ofCampaign campaign: Int64, in place: ChannelPlace, seconds: Int)
        async throws(StorageError) -> ChannelIntent
    {
        try await intend(policy, campaign: campaign, in: place, seconds: seconds)
    }

    private func intend(_ policy: ChannelStoragePolicy, campaign: Int64?, in place: ChannelPlace, seconds: Int)
        async throws(StorageError) -> ChannelIntent
    {
        try await query(ChannelStatements.addPlace, place.key)
        return try await transaction { connection in
            let state = try await connection.query(ChannelStatements.lockPlace, place.key)
            guard state.rowCount == 1, state.bool(row: 0, column: 0) else { return .needsListing }
            guard !state.bool(row: 0, column: 1) else { return .isListing }
            let stored = try await connection.query(
                ChannelStatements.intend,
                [.application(place.application.id)] + place.key
                    + [.int16(policy.rawValue), .int32(Int32(seconds)), Parameter(campaign)])
            return stored.rowCount == 1 ? .stored(stored.uuid(column: 0)) : .notNeeded
        }
    }

    package func channelWasMade(_ identifier: String, request: UUID, in place: ChannelPlace) async throws(StorageError) {
        try await query(
            ChannelStatements.wasMade,
            [.uuid(request), .text(identifier), .application(place.application.id)] + place.key)
    }

    package func channelWasNotMade(request: UUID) async throws(StorageError) {
        try await query(ChannelStatements.wasNotMade, [.uuid(request)])
    }

    // MARK: Comparing

    package func beginListing(of place: ChannelPlace, seconds: Int) async throws(StorageError) -> UUID? {
        try await query(ChannelStatements.addPlace, place.key)
        return try await transaction { connection in
            let state = try await connection.query(ChannelStatements.lockPlace, place.key)
            guard state.rowCount == 1, !state.bool(row: 0, column: 1),
                try await connection.query(ChannelListingStatements.isAllowed, place.key).bool(row: 0, column: 0)
            else { return nil }
            return try await connection.query(ChannelListingStatements.begin, place.key + [.int32(Int32(seconds))])
                .uuid(column: 0)
        }
    }

    package func finishListing(_ listing: UUID, of place: ChannelPlace, found identifiers: [String])
        async throws(StorageError) -> ChannelListingReport?
    {
        try await transaction { connection in
            let locked = try await connection.query(ChannelListingStatements.lock, place.key + [.uuid(listing)])
            guard locked.rowCount == 1 else { return nil }
            let rows = try await connection.query(ChannelListingStatements.known, place.key)
            var known: [String: Bool] = [:]
            var (unresolvedCount, foreign): (Int, [String]) = (0, [])
            for row in 0..<rows.rowCount {
                guard let identifier = rows.optionalText(row: row, column: 0) else {
                    unresolvedCount += 1
                    continue
                }
                known[identifier] = rows.bool(row: row, column: 2)
                if rows.int16(row: row, column: 1) == ChannelState.foreign.rawValue { foreign.append(identifier) }
            }
            let comparison = ChannelComparison(listed: identifiers, known: known, unresolvedCount: unresolvedCount)
            let there = Set(identifiers)
            let owner: [Parameter] = [.application(place.application.id)] + place.key
            let results = try await connection.run([
                StatementCall(ChannelListingStatements.forget, place.key + [.textArray(comparison.gone)]),
                StatementCall(
                    ChannelListingStatements.forget, place.key + [.textArray(foreign.filter { !there.contains($0) })]),
                StatementCall(ChannelListingStatements.forgetIntents, place.key),
                StatementCall(ChannelListingStatements.adopt, owner + [.textArray(comparison.ours)]),
                StatementCall(ChannelListingStatements.addForeign, owner + [.textArray(comparison.foreign)]),
                StatementCall(ChannelListingStatements.end, place.key),
            ])
            var report = ChannelListingReport()
            report.goneCount = Int(results[0].int64(row: 0, column: 0))
            report.goneUsedCount = Int(results[0].int64(row: 0, column: 1))
            report.recoveredCount = comparison.ours.count
            report.foreignCount = comparison.foreign.count
            report.isAmbiguous = comparison.isAmbiguous
            return report
        }
    }

    package func abandonListing(_ listing: UUID, of place: ChannelPlace) async throws(StorageError) {
        try await query(ChannelListingStatements.abandon, place.key + [.uuid(listing)])
    }

    // MARK: Deleting

    package func retireFreeChannels(of place: ChannelPlace) async throws(StorageError) {
        try await query(ChannelStatements.retireFree, place.owner)
    }

    package func retireChannels(of place: ChannelPlace, overForSeconds seconds: Int64) async throws(StorageError) {
        try await transaction { connection in
            let seen = try await connection.query(ChannelStatements.lockOver, place.owner + [.int64(seconds)])
            let locked = (0..<seen.rowCount).filter { seen.bool(row: $0, column: 1) }.map { seen.uuid(row: $0, column: 0).bytes }
            guard !locked.isEmpty else { return }
            try await connection.query(ChannelStatements.retireOver, place.owner + [.int64(seconds), .uuidArray(locked)])
        }
    }

    package func claimLeavingChannels(of place: ChannelPlace, limit: Int, seconds: Int)
        async throws(StorageError) -> [LeavingChannel]
    {
        try await transaction { connection in
            let state = try await connection.query(ChannelStatements.lockPlace, place.key)
            guard state.rowCount == 1, !state.bool(row: 0, column: 1) else { return [] }
            let claimed = try await connection.query(
                ChannelStatements.claimLeaving, place.owner + [.int32(Int32(limit)), .int32(Int32(seconds))])
            return (0..<claimed.rowCount).map { row in
                LeavingChannel(request: claimed.uuid(row: row, column: 0), identifier: claimed.text(row: row, column: 1))
            }
        }
    }

    package func channelIsGone(request: UUID) async throws(StorageError) {
        try await query(ChannelStatements.isGone, [.uuid(request)])
    }

    package func postponeDeletion(request: UUID, seconds: Int) async throws(StorageError) {
        try await query(ChannelStatements.postpone, [.uuid(request), .int32(Int32(seconds))])
    }
}

extension ChannelPlace {
    /// Bundle identifier and environment. A place without a bundle identifier has no channels.
    fileprivate var key: [Parameter] { [.text(application.bundleID ?? ""), .int16(environment.rawValue)] }
    /// App and environment.
    fileprivate var owner: [Parameter] { [.application(application.id), .int16(environment.rawValue)] }
}

extension ActivityChannel {
    /// Reads a list of lists of environment, identifier and policy; none for null. Nil for what this version does not understand.
    static func list(_ result: QueryResult, row: Int = 0, column: Int) -> [ActivityChannel]? {
        guard !result.isNull(row: row, column: column) else { return [] }
        guard let entries = try? JSONDocument(parsing: result.jsonb(row: row, column: column)).root.elements else { return nil }
        var channels: [ActivityChannel] = []
        for entry in entries {
            let parts = entry.elements
            guard parts.count == 3,
                let environment = parts[0].integer.flatMap(Int16.init(exactly:)).flatMap(PushEnvironment.init),
                let identifier = parts[1].string,
                let policy = parts[2].integer.flatMap(Int16.init(exactly:)).flatMap(ChannelStoragePolicy.init)
            else { return nil }
            channels.append(ActivityChannel(environment: environment, identifier: identifier, policy: policy))
        }
        return channels
    }
}
