/// Variable-length tokens side by side in one buffer, so that a page of them is two allocations.
package struct TokenList: Sendable {
    /// The bytes of all tokens, one after the other.
    package private(set) var bytes: [UInt8] = []
    /// Where token `i` ends.
    package private(set) var ends: [Int32] = []
    /// An empty list.
    package init() {}
    package var count: Int { ends.count }
    /// The bytes of one token within `bytes`.
    package func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : Int(ends[index - 1]))..<Int(ends[index]) }
    /// One token as an array.
    package subscript(index: Int) -> [UInt8] { Array(bytes[range(index)]) }
    /// Reserves room for so many tokens of that size.
    package mutating func reserve(count: Int, tokenByteCount: Int) {
        bytes.reserveCapacity(count * tokenByteCount)
        ends.reserveCapacity(count)
    }
    /// Adds one token.
    package mutating func append(_ token: some Collection<UInt8>) {
        bytes.append(contentsOf: token)
        ends.append(Int32(bytes.count))
    }
    /// Adds one token that `write` appends to the bytes, without an intermediate array.
    package mutating func append(writing write: (inout [UInt8]) -> Void) {
        write(&bytes)
        ends.append(Int32(bytes.count))
    }
}

/// Which chunk, and the fence that closing it must pass.
package struct ChunkID: Hashable, Sendable {
    package let notification: NotificationID
    package let number: Int32
    /// Rises with each owner.
    package let epoch: Int32
    /// Puts the three together.
    package init(notification: NotificationID, number: Int32, epoch: Int32) {
        self.notification = notification
        self.number = number
        self.epoch = epoch
    }
}

/// Some devices of a fan-out, claimed for one worker: committed before it was returned.
package struct Chunk: Sendable {
    package let id: ChunkID
    package let application: ApplicationID
    /// Ascending; `delivery.device_id`.
    package var devices: [Int64] = []
    /// Their tokens, at the same index.
    package var tokens = TokenList()
    /// Their services (`PushService.rawValue`), at the same index.
    package var services: [Int16] = []
    /// Their languages, at the same index; empty when the notification has one language only.
    package var languages: [String?] = []
    /// Which of the job's variants each gets, at the same index; empty when all get the first.
    package var variants: [UInt8] = []
    /// How often each was tried before; empty when never.
    package var attempts: [Int16] = []
    /// Whether it holds devices that were counted as targeted before (a retry).
    package let isRetry: Bool

    /// A chunk without devices yet.
    package init(id: ChunkID, application: ApplicationID, isRetry: Bool) {
        self.id = id
        self.application = application
        self.isRetry = isRetry
    }
}

/// What a fan-out sends, the same for all its chunks.
package struct PushJob: Sendable {
    package let notification: NotificationID
    package let application: Application
    package let activityID: String
    package let content: PushContent
    /// What `Chunk.variants` counts; at least one.
    package let variants: [PushVariant]
    /// The activity's broadcast channels, one an environment at most.
    package let channels: [PushEnvironment: ActivityChannel]
    /// `aps.timestamp`, strictly rising per activity, seconds since 1970.
    package let timestamp: Int64
    /// `apns-expiration` and the end of all retries, seconds since 1970.
    package let expiresAt: Int64
    /// The same in milliseconds: from then on nothing of it is sent.
    var expiry: UnixMilliseconds { UnixMilliseconds(rawValue: expiresAt * 1_000) }

    /// Puts together what the store holds.
    package init(
        notification: NotificationID, application: Application, activityID: String, content: PushContent,
        variants: [PushVariant] = [PushVariant()], channels: [ActivityChannel] = [], timestamp: Int64, expiresAt: Int64
    ) {
        precondition(!variants.isEmpty, "a job has a variant")
        self.variants = variants
        self.channels = [PushEnvironment: ActivityChannel](channels.map { ($0.environment, $0) }) { first, _ in first }
        self.notification = notification
        self.application = application
        self.activityID = activityID
        self.content = content
        self.timestamp = timestamp
        self.expiresAt = expiresAt
    }

    /// The channel that a push of this start puts its device on; nil when it asks for an update token instead.
    package func joinedChannel(variant: UInt8, service: PushService) -> ActivityChannel? {
        guard content.event == .start, variants[Int(variant)].joinsChannel, service == .apnsProduction || service == .apnsSandbox
        else { return nil }
        return service.environment.flatMap { channels[$0] }
    }
}

/// How one device's push ended.
package struct DeliveryRecord: Hashable, Sendable {
    package let device: Int64
    package let reason: DeliveryReason
    /// When the outcome was known.
    package let at: UnixMilliseconds
    /// Puts the three together.
    package init(device: Int64, reason: DeliveryReason, at: UnixMilliseconds) {
        self.device = device
        self.reason = reason
        self.at = at
    }
}

/// A device whose push is to be tried again.
package struct RetryRecord: Hashable, Sendable {
    package let device: Int64
    /// How often it was tried so far.
    package let attempt: Int16
    package let notBefore: UnixMilliseconds
    /// Puts the three together.
    package init(device: Int64, attempt: Int16, notBefore: UnixMilliseconds) {
        self.device = device
        self.attempt = attempt
        self.notBefore = notBefore
    }
}

/// A token APNs called dead.
package struct DeadToken: Hashable, Sendable {
    package let device: Int64
    package let token: [UInt8]
    /// What APNs said.
    package let reason: DeliveryReason
    /// Since when, by APNs; a token registered later is kept. Nil removes it if it is still the same.
    package let since: UnixMilliseconds?
    /// Puts them together.
    package init(device: Int64, token: [UInt8], reason: DeliveryReason, since: UnixMilliseconds?) {
        self.device = device
        self.token = token
        self.reason = reason
        self.since = since
    }
}

/// A token that APNs wants to be left alone for a while, whatever is to be sent.
package struct QuietToken: Hashable, Sendable {
    package let device: Int64
    package let token: [UInt8]
    package let until: UnixMilliseconds
    /// Puts the three together.
    package init(device: Int64, token: [UInt8], until: UnixMilliseconds) {
        self.device = device
        self.token = token
        self.until = until
    }
}

/// All that closing one chunk stores.
package struct ChunkRecord: Sendable {
    package let chunk: ChunkID
    package let event: ActivityEvent
    package var deliveries: [DeliveryRecord] = []
    package var retries: [RetryRecord] = []
    package var deadTokens: [DeadToken] = []
    package var quietTokens: [QuietToken] = []
    /// A record without outcomes yet.
    package init(chunk: ChunkID, event: ActivityEvent) {
        self.chunk = chunk
        self.event = event
    }
}

/// Where the work of fan-outs is claimed and its outcomes are kept. Implemented by the store.
package protocol DeliveryQueue: Sendable {
    /// Registers a worker with a fresh number and its first lease.
    ///
    /// - Parameter journal: names its journal; nil when it has none.
    func registerWorker(node: String, journal: UUID?) async throws(StorageError) -> WorkerID
    /// The workers that registered with this journal: none when it belongs to another database, more than one when the answer
    /// to a registration was lost.
    func workers(ofJournal journal: UUID) async throws(StorageError) -> [WorkerID]
    /// Extends the worker's lease; false when it was lost to another daemon, which then owns its chunks.
    func extendLease(of worker: WorkerID, seconds: Int) async throws(StorageError) -> Bool
    /// Gives the lease back, so that others need not wait for it to run out.
    func releaseLease(of worker: WorkerID) async throws(StorageError)
    /// Claims the next chunk: a due retry, a late joiner, an abandoned chunk or a fresh page; nil when there is none.
    ///
    /// Fan-outs with fewer claimed chunks go first, so that a small one does not wait behind a large one.
    /// Returns after the commit. An abandoned chunk of a start is not returned but recorded as unknown.
    func claimChunk(for worker: WorkerID, deviceCount: Int, excluding applications: [ApplicationID])
        async throws(StorageError) -> Chunk?
    /// Makes the worker's claimed chunks claimable again, but for those it knows of; nothing of the others was sent.
    ///
    /// For claims that were committed although the answer was lost, and for what a stopping worker did not get to.
    func giveBackChunks(of worker: WorkerID, except held: [ChunkID]) async throws(StorageError)
    /// The same for a worker that died, of whose chunks nothing was sent but of those held; a chunk that so many workers had
    /// before stays, for it may be what kills them.
    func handOutChunks(ofDead worker: WorkerID, except held: [ChunkID]) async throws(StorageError)
    /// What a notification sends; nil when it is not known.
    func job(for notification: NotificationID) async throws(StorageError) -> PushJob?
    /// Those of the notifications whose place a newer state or an end has taken since.
    func superseded(among notifications: [NotificationID]) async throws(StorageError) -> [NotificationID]
    /// Stores outcomes and closes the chunks in one transaction; returns the chunks that another worker took over meanwhile.
    func record(_ records: [ChunkRecord], worker: WorkerID) async throws(StorageError) -> [ChunkID]
    /// Gives up a chunk whose outcomes cannot be stored: its devices are recorded as unknown, and none is sent again.
    func giveUp(_ chunk: ChunkID, of worker: WorkerID) async throws(StorageError)
    /// Milliseconds until the next retry of other apps than these is due; nil when none waits.
    func millisecondsUntilNextRetry(excluding applications: [ApplicationID]) async throws(StorageError) -> Int64?
}
