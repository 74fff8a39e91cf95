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

    /// The chunk's devices as one batch an environment, with the chunk's indexes each batch holds.
    func batches(of chunk: Chunk, onFirstAccepted: @escaping @Sendable () -> Void) -> [(batch: PushBatch, indexes: [Int])] {
        PushEnvironment.allCases.compactMap { environment in
            let indexes = chunk.devices.indices.filter { chunk.environments[$0] == environment.rawValue }
            guard !indexes.isEmpty else { return nil }
            var tokens = TokenList()
            tokens.reserve(count: indexes.count, tokenByteCount: chunk.tokens.bytes.count / max(1, chunk.tokens.count))
            for index in indexes { tokens.append(chunk.tokens.bytes[chunk.tokens.range(index)]) }
            var known: [String: UInt8] = [:]
            let bodyIndexes = indexes.map { index -> UInt8 in
                guard !chunk.languages.isEmpty, let language = chunk.languages[index] else { return 0 }
                if let index = known[language] { return index }
                known[language] = bodyIndex(language: language)
                return known[language, default: 0]
            }
            let batch = PushBatch(
                application: job.application, environment: environment, notification: job.notification, collapseID: collapseID,
                priority: job.content.priority, expiresAt: job.expiresAt, bodies: bodies,
                devices: indexes.map { chunk.devices[$0] },
                tokens: tokens, bodyIndexes: bodyIndexes, cancellation: cancellation, onFirstAccepted: onFirstAccepted)
            return (batch, indexes)
        }
    }
}
