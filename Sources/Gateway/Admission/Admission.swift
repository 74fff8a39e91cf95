/// What became of a start that passed validation.
package enum StartDecision: Sendable {
    /// The app calls too often; a call after this many whole seconds passes.
    case rateLimited(retryAfterSeconds: Int)
    /// The push would be larger than APNs takes; sizes in bytes. Nothing is stored.
    case tooLarge(byteCount: Int, limit: Int)
    /// The stale date has passed, so no device would show the activity. Nothing is stored.
    case stale
    /// What the ledger made of it.
    case decided(StartAcceptance)
}

/// What became of an update or end that passed validation.
package enum UpdateDecision: Sendable {
    /// The app calls too often; a call after this many whole seconds passes.
    case rateLimited(retryAfterSeconds: Int)
    /// The push would be larger than APNs takes; sizes in bytes. Nothing is stored.
    case tooLarge(byteCount: Int, limit: Int)
    /// What the ledger made of it.
    case decided(UpdateAcceptance)
}

/// The last gate before a command is stored; the same for every dialect.
///
/// The app's rate comes first and counts only what passed validation. A replay comes next, whatever its body and
/// however late. Then the stale date and the size of the final body are checked, so that nothing is stored that no device shows.
package struct Admission: Sendable {
    private let ledger: any NotificationLedger
    private let renderer: any PayloadRenderer
    private let now: @Sendable () -> Int64

    /// Puts the ports together.
    ///
    /// - Parameter now: seconds since 1970.
    package init(ledger: any NotificationLedger, renderer: any PayloadRenderer, now: @escaping @Sendable () -> Int64) {
        self.ledger = ledger
        self.renderer = renderer
        self.now = now
    }

    /// Admits a start and stores it.
    package func start(_ command: StartCommand, application: Application) async throws(StorageError) -> StartDecision {
        if case .refused(let seconds) = try await ledger.admitCall(of: application.id) {
            return .rateLimited(retryAfterSeconds: seconds)
        }
        if let key = command.idempotency, let earlier = try await ledger.replay(of: key, application: application.id) {
            return .decided(earlier)
        }
        if let staleDate = command.content.staleDate, staleDate < now() { return .stale }
        // Live notifications are one person's and take no channel.
        let isOfOne = command.content.instance != nil
        let form = isOfOne ? PayloadForm(service: .apnsProduction) : PayloadForm(measuringStartOf: application)
        if let byteCount = excessByteCount(of: command.content, form: form) {
            return .tooLarge(byteCount: byteCount, limit: AdmissionLimits.payloadByteCount)
        }
        return .decided(try await ledger.accept(command, application: application))
    }

    /// Admits an update or end and stores it.
    package func update(_ command: UpdateCommand, application: Application) async throws(StorageError) -> UpdateDecision {
        if case .refused(let seconds) = try await ledger.admitCall(of: application.id) {
            return .rateLimited(retryAfterSeconds: seconds)
        }
        if let byteCount = excessByteCount(of: command.content, form: PayloadForm(service: .apnsProduction)) {
            return .tooLarge(byteCount: byteCount, limit: AdmissionLimits.payloadByteCount)
        }
        return .decided(try await ledger.accept(command, application: application))
    }

    /// The size of the largest body when APNs would refuse it. The clock has ten digits until 2286, as the final one.
    private func excessByteCount(of content: PushContent, form: PayloadForm) -> Int? {
        let byteCount = renderer.largestByteCount(of: content, form: form, timestamp: now())
        return byteCount > AdmissionLimits.payloadByteCount ? byteCount : nil
    }
}
