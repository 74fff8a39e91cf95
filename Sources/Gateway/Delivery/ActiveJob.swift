/// A notification this worker is sending, with everything that is made once for all its chunks.
struct ActiveJob {
    let job: PushJob
    /// One body a language, in the order of `job.content.alerts`.
    let bodies: [[UInt8]]
    let cancellation = Cancellation()
    var openChunkCount = 0

    init(job: PushJob, renderer: any PayloadRenderer) {
        self.job = job
        let alerts: [LocalizedAlert?] = job.content.alerts.isEmpty ? [nil] : job.content.alerts.map { $0 }
        bodies = alerts.map { renderer.render(job.content, timestamp: job.timestamp, alert: $0) }
    }

    /// Which body a device of this language gets: the exact tag, else its primary language, else the first (`en`).
    func bodyIndex(language: String) -> UInt8 {
        guard job.content.alerts.count > 1 else { return 0 }
        let wanted = language.lowercased()
        let tags = job.content.alerts.map { $0.language.lowercased() }
        if let exact = tags.firstIndex(of: wanted) { return UInt8(exact) }
        let primary = wanted.prefix { $0 != "-" && $0 != "_" }
        return UInt8(tags.firstIndex { $0 == primary } ?? 0)
    }

    /// `apns-collapse-id`: one a start's activity, so that a start sent again replaces the card instead of adding one.
    ///
    /// Updates carry none: content states are ordered by `timestamp`. Source: Apple allows 64 bytes; a longer activity
    /// id is folded into 16 hexadecimal digits of its 64-bit FNV-1a hash.
    var collapseID: String? {
        guard job.content.event == .start else { return nil }
        guard job.activityID.utf8.count > 64 || !job.activityID.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return job.activityID
        }
        let hash = job.activityID.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The chunk's devices as one batch an environment, with the chunk's indexes each batch holds, in rising order.
    func batches(of chunk: Chunk, onFirstAccepted: @escaping @Sendable () -> Void) -> [(batch: PushBatch, indexes: [Int])] {
        let bodyIndexes = bodyIndexes(of: chunk)
        func batch(_ environment: PushEnvironment, _ devices: [Int64], _ tokens: TokenList, _ bodies: [UInt8]) -> PushBatch {
            PushBatch(
                application: job.application, environment: environment, notification: job.notification, collapseID: collapseID,
                priority: job.content.priority, expiresAt: job.expiresAt, bodies: self.bodies, devices: devices, tokens: tokens,
                bodyIndexes: bodies, cancellation: cancellation, onFirstAccepted: onFirstAccepted)
        }
        return PushEnvironment.allCases.compactMap { environment in
            let indexes = chunk.environments.indices.filter { chunk.environments[$0] == environment.rawValue }
            guard !indexes.isEmpty else { return nil }
            // Nearly always: nothing needs to be picked out.
            if indexes.count == chunk.devices.count {
                return (batch(environment, chunk.devices, chunk.tokens, bodyIndexes), indexes)
            }
            var tokens = TokenList()
            tokens.reserve(count: indexes.count, tokenByteCount: chunk.tokens.bytes.count / max(1, chunk.tokens.count))
            for index in indexes { tokens.append(chunk.tokens.bytes[chunk.tokens.range(index)]) }
            return (
                batch(environment, indexes.map { chunk.devices[$0] }, tokens, indexes.map { bodyIndexes[$0] }), indexes
            )
        }
    }

    /// Which body each device of a chunk gets.
    private func bodyIndexes(of chunk: Chunk) -> [UInt8] {
        guard !chunk.languages.isEmpty else { return [UInt8](repeating: 0, count: chunk.devices.count) }
        var known: [String: UInt8] = [:]
        return chunk.languages.map { language in
            guard let language else { return 0 }
            if let index = known[language] { return index }
            let index = bodyIndex(language: language)
            known[language] = index
            return index
        }
    }
}
