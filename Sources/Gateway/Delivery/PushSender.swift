import Synchronization

/// A flag shared by all batches of a notification in one worker: once set, what is unsent stays unsent.
package final class Cancellation: Sendable {
    /// Why nothing more may be sent.
    package enum Cause: UInt8, Sendable {
        /// A newer state of the activity, or its end, takes its place.
        case superseded = 1
        /// The worker's lease may have run out: another daemon may be sending the rest.
        case leaseExpired = 2
        /// Its time to live is over.
        case expired = 3
    }

    private let raw = Atomic<UInt8>(0)
    /// Not cancelled.
    package init() {}
    /// Whether it was cancelled.
    package var isCancelled: Bool { raw.load(ordering: .relaxed) != 0 }
    /// Why it was cancelled first; nil when it was not.
    package var cause: Cause? { Cause(rawValue: raw.load(ordering: .relaxed)) }
    /// Cancels for good; the first cause stays.
    package func cancel(_ cause: Cause) {
        _ = raw.compareExchange(expected: 0, desired: cause.rawValue, ordering: .relaxed)
    }
}

/// Pushes of one notification through one service, to be sent together.
package struct PushBatch: Sendable {
    package let application: Application
    package let service: PushService
    package let notification: NotificationID
    /// `apns-collapse-id`, at most 64 bytes; nil for none.
    package let collapseID: String?
    /// `apns-priority`: 5 or 10.
    package let priority: Int
    /// `apns-expiration`, seconds since 1970.
    package let expiresAt: Int64
    /// The bodies by language and variant, as a `PayloadRenderer` made them for the service.
    package let bodies: [[UInt8]]
    /// `delivery.device_id`; the apns-id is made from it and the notification.
    package let devices: [Int64]
    package let tokens: TokenList
    /// Which body, at the same index.
    package let bodyIndexes: [UInt8]
    package let cancellation: Cancellation
    /// Called once, on the loop, when APNs accepted the first push of the batch.
    package let onFirstAccepted: (@Sendable () -> Void)?
    /// Where the sender notes how far each push got; nil when nobody wants to know.
    package var marks: PushMarks?

    /// Puts a batch together; the lists have equal lengths.
    package init(
        application: Application, service: PushService, notification: NotificationID, collapseID: String?, priority: Int,
        expiresAt: Int64, bodies: [[UInt8]], devices: [Int64], tokens: TokenList, bodyIndexes: [UInt8],
        cancellation: Cancellation, onFirstAccepted: (@Sendable () -> Void)?
    ) {
        precondition(devices.count == tokens.count && devices.count == bodyIndexes.count, "lists of a batch differ in length")
        self.application = application
        self.service = service
        self.notification = notification
        self.collapseID = collapseID
        self.priority = priority
        self.expiresAt = expiresAt
        self.bodies = bodies
        self.devices = devices
        self.tokens = tokens
        self.bodyIndexes = bodyIndexes
        self.cancellation = cancellation
        self.onFirstAccepted = onFirstAccepted
    }
}

/// Sends batches to push services. Implemented by the adapters, one on each event loop.
package protocol PushSender: Sendable {
    /// Sends every push of the batch; returns when each has an outcome, at the same index.
    func send(_ batch: PushBatch) async -> [PushOutcome]
}

/// A provider token and when it was made.
package struct ProviderToken: Hashable, Sendable {
    /// The JSON web token, without `bearer`.
    package let token: String
    /// Its `iat`, seconds since 1970.
    package let issuedAt: Int64
    /// Puts both together.
    package init(token: String, issuedAt: Int64) {
        self.token = token
        self.issuedAt = issuedAt
    }
}

/// Where signing keys are kept and provider tokens are shared by all daemons. Implemented by the store.
package protocol ProviderTokenVault: Sendable {
    /// The signing key in PEM (PKCS #8), opened with the master key; nil when no app has it or it cannot be opened.
    func signingKey(of key: ProviderKey) async throws(StorageError) -> [UInt8]?
    /// The token all daemons use now; nil when none was made yet.
    func currentToken(of key: ProviderKey) async throws(StorageError) -> ProviderToken?
    /// Offers a fresh token. One daemon wins: returns the token to use, which is `replacement` only when the stored
    /// one is still `expected` (nil: none).
    ///
    /// - Parameter forcedDistanceSeconds: for a token that takes a refused one's place: such a renewal must be at least so long ago, whichever
    ///   daemon made it. Nil for a renewal by age.
    func replaceToken(
        of key: ProviderKey, expected: ProviderToken?, with replacement: ProviderToken, forcedDistanceSeconds: Int64?
    ) async throws(StorageError) -> ProviderToken
}
