import Gateway
import PostgreSQL

/// What a worker can claim, in the order of preference; the numbers are those of `NextWorkStatements.next`.
private enum Work: Int32 {
    case retry = 0
    case ready = 1
    case abandoned = 2
    case page = 3
}

/// One line of `NextWorkStatements.next`.
private struct NextWork {
    let work: Work
    let notification: NotificationID
    let event: ActivityEvent
    /// Of a retry: whether its devices count as targeted. Of an abandoned chunk: whether it must not be sent again. Of a page:
    /// whether there are conditions.
    let detail: Bool

    /// Nil for what this version does not understand.
    init?(_ result: QueryResult) {
        guard let work = Work(rawValue: result.int32(row: 0, column: 0)),
            let event = ActivityEvent(rawValue: result.int16(row: 0, column: 2))
        else { return nil }
        self.work = work
        self.event = event
        notification = NotificationID(rawValue: result.int64(row: 0, column: 1))
        detail = result.bool(row: 0, column: 3)
    }

    /// Whether what the notification sends has to be understood. Devices of an abandoned start are only counted.
    var needsContent: Bool { work != .abandoned || !detail }
}

extension Store {
    /// How often a claim looks for work before it says that there is none: other workers may be quicker, windows of a sparse
    /// condition empty, and abandoned starts be recorded on the way.
    static let claimAttemptLimit = 64
    /// Longest a transaction takes in which a device loses its user, in seconds: many times what its statements may.
    static let userLeaveSeconds = 600

    func claim(for worker: WorkerID, deviceCount: Int, excluding applications: [ApplicationID])
        async throws(StorageError) -> Chunk?
    {
        for _ in 0..<Self.claimAttemptLimit {
            let found = try await query(
                NextWorkStatements.next,
                [.int32Array(applications.map(\.rawValue)), .notifications(setAside.passedOver()), .worker(worker)])
            guard found.rowCount == 1 else {
                // A safety net: whoever closes the last chunk looks at its fan-out. Some at a time, for in an outage thousands are open.
                finishPlace.moved(to: try await finishOpen(behind: finishPlace.value))
                return nil
            }
            let notification = NotificationID(rawValue: found.int64(row: 0, column: 1))
            let chunk = try await settingAside(notification) { () async throws(StorageError) in
                guard let next = NextWork(found) else { throw .refused(sqlState: SQLStates.unreadableValue) }
                if next.needsContent { try await self.checkReadable(notification) }
                return try await self.claim(next, for: worker, deviceCount: deviceCount)
            }
            if let chunk { return chunk }
        }
        return nil
    }

    /// Sets a fan-out aside when its values are at fault, so that it does not keep the others from being claimed. Nil then, too.
    func settingAside<Value>(
        _ notification: NotificationID, _ work: () async throws(StorageError) -> Value?
    ) async throws(StorageError) -> Value? {
        do throws(StorageError) {
            let value = try await work()
            if value != nil { setAside.worked(notification) }
            return value
        } catch {
            guard error.isAboutValues else { throw error }
            setAside.add(notification, error)
            return nil
        }
    }

    /// Looks whether this version understands what the notification sends, before a chunk of it is claimed.
    private func checkReadable(_ notification: NotificationID) async throws(StorageError) {
        guard !setAside.isKnownReadable(notification) else { return }
        guard try await job(for: notification) != nil else { throw .refused(sqlState: SQLStates.unreadableValue) }
        setAside.wasRead(notification)
    }

    private func claim(_ next: NextWork, for worker: WorkerID, deviceCount: Int) async throws(StorageError) -> Chunk? {
        switch next.work {
        case .page:
            return next.detail
                ? try await carveMatching(next.notification, worker: worker, deviceCount: deviceCount)
                : try await carve(next.notification, event: next.event, worker: worker, deviceCount: deviceCount)
        case .retry:
            let parameters: [Parameter] = [
                .notification(next.notification), .bool(next.detail), .worker(worker), .int32(Int32(deviceCount)),
            ]
            return try await claimListed(next, by: StatementCall(ChunkClaimStatements.claimRetry, parameters))
        case .ready:
            let parameters: [Parameter] = [.notification(next.notification), .worker(worker)]
            return try await claimListed(next, by: StatementCall(ChunkClaimStatements.claimReady, parameters))
        case .abandoned:
            try await query(WorkerStatements.markLost, [.worker(worker)])
            let parameters: [Parameter] = [.notification(next.notification), .worker(worker)]
            guard next.detail else {
                return try await claimListed(next, by: StatementCall(AbandonedChunkStatements.takeOver, parameters))
            }
            try await query(AbandonedChunkStatements.recordUnknown, parameters)
            try await finish([next.notification])
            return nil
        }
    }

    /// Claims a chunk that names its devices, or the page they are on, and looks up their tokens. Nil when somebody else was
    /// quicker, or when no device has a token any more.
    private func claimListed(_ next: NextWork, by call: StatementCall) async throws(StorageError) -> Chunk? {
        let chunk: Chunk? = try await transaction { connection in
            let claimed = try await connection.run([StatementCall(ChunkClaimStatements.durable), call])[1]
            guard claimed.rowCount == 1 else { return nil }
            let number = claimed.int32(row: 0, column: 0)
            let listedCount = claimed.optionalInt32(column: 3)
            let identifiers: [Parameter] = [.notification(next.notification), .int32(number)]
            let isStart = next.event == .start
            let application = try await connection.query(CarvingStatements.application, [.notification(next.notification)])
            let found: QueryResult
            if listedCount != nil {
                let isTyped = application.bool(row: 0, column: 1)
                let listed = isTyped ? ChunkClaimStatements.typedTokens : ChunkClaimStatements.startTokens
                found = try await connection.query(isStart ? listed : ChunkClaimStatements.updateTokens, identifiers)
            } else if isStart {
                found = try await connection.query(ChunkClaimStatements.startPage, identifiers)
            } else {
                let claimedAt = Parameter.timestamp(microsecondsSince1970: claimed.timestampMicroseconds(row: 0, column: 4))
                found = try await connection.query(ChunkClaimStatements.updatePage, identifiers + [claimedAt])
            }
            var listed = ListedChunk(
                Chunk(
                    id: ChunkID(notification: next.notification, number: number, epoch: claimed.int32(row: 0, column: 1)),
                    application: ApplicationID(rawValue: application.int32(row: 0, column: 0)),
                    isRetry: claimed.bool(row: 0, column: 2)))
            listed.read(found)
            // A late joiner that is gone was never counted.
            let isLateJoiner = next.work == .retry && !next.detail
            let gone = isLateJoiner ? [] : listed.gone
            if listedCount.map(Int.init) != listed.chunk.devices.count {
                try await connection.query(ChunkClaimStatements.settle, identifiers + listed.parameters(gone: gone))
            }
            if !listed.failed.isEmpty {
                try await connection.query(ChunkClaimStatements.takeBack, identifiers + [.int64Array(listed.failed)])
            }
            return listed.chunk
        }
        guard let chunk else { return nil }
        guard !chunk.devices.isEmpty else {
            try await finish([next.notification])
            return nil
        }
        return chunk
    }

    /// As if its owner had died, and so often that it is not sent again.
    func handOver(_ chunk: ChunkID, of worker: WorkerID) async throws(StorageError) {
        try await query(
            AbandonedChunkStatements.handOver,
            [.worker(worker), .notification(chunk.notification), .int32(chunk.number), .int32(chunk.epoch)])
    }

    /// - Parameter ownerLimit: chunks that so many workers had stay as they are; nil for no limit.
    func giveBack(chunksOf worker: WorkerID, except held: [ChunkID], ownerLimit: Int32? = nil) async throws(StorageError) {
        let superseded: [NotificationID] = try await transaction { connection in
            let owned = try await connection.query(ChunkClaimStatements.lockOwned, [.worker(worker)])
            guard owned.rowCount > 0 else { return [] }
            try await connection.query(
                ChunkClaimStatements.giveBack,
                [
                    .worker(worker), .int64Array(held.map(\.notification.rawValue)), .int32Array(held.map(\.number)),
                    Parameter(ownerLimit),
                ])
            let superseded = (0..<owned.rowCount).filter { owned.bool(row: $0, column: 1) }
                .map { NotificationID(rawValue: owned.int64(row: $0, column: 0)) }
            if !superseded.isEmpty {
                try await connection.query(FanOutStatements.dropReadyChunks, [.notifications(superseded)])
            }
            return superseded
        }
        if !superseded.isEmpty { try await finish(superseded) }
    }
}

/// A chunk, those of its devices that have no token any more, and those that have another one since their push failed.
private struct ListedChunk {
    var chunk: Chunk
    private(set) var gone: [Int64] = []
    private(set) var failed: [Int64] = []

    init(_ chunk: Chunk) { self.chunk = chunk }

    /// Reads rows of device, attempt, token, service, language, variant, whether it has an outcome.
    mutating func read(_ rows: QueryResult) {
        var hasLanguages = false
        for row in 0..<rows.rowCount {
            let device = rows.int64(row: row, column: 0)
            guard !rows.isNull(row: row, column: 2) else {
                gone.append(device)
                continue
            }
            chunk.devices.append(device)
            if rows.bool(row: row, column: 6) { failed.append(device) }
            chunk.tokens.append { rows.appendBytes(row: row, column: 2, to: &$0) }
            chunk.services.append(rows.int16(row: row, column: 3))
            if !rows.isNull(row: row, column: 1) { chunk.attempts.append(rows.int16(row: row, column: 1)) }
            let language = rows.optionalText(row: row, column: 4)
            hasLanguages = hasLanguages || language != nil
            chunk.languages.append(language)
            if !rows.isNull(row: row, column: 5) { chunk.variants.append(UInt8(clamping: rows.int16(row: row, column: 5))) }
        }
        // Without one, the default text is right, whether the notification has several or not.
        if !hasLanguages { chunk.languages = [] }
    }

    /// What `ChunkClaimStatements.settle` needs behind notification and number.
    func parameters(gone: [Int64]) -> [Parameter] {
        [
            .int64Array(chunk.devices), chunk.attempts.isEmpty && !chunk.devices.isEmpty ? .null : .int16Array(chunk.attempts),
            .int64Array(gone),
        ]
    }
}
