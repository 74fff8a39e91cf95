import Gateway

/// Has what devices tell of pushes counted, and waits for a push that is still being recorded.
struct TapReports: Sendable {
    let taps: any TapCounter
    /// Pause between two looks.
    let interval: Duration
    /// Most looks after the first.
    let lookCount: Int
    let sleep: @Sendable (Duration) async -> Void

    /// The notification it counts for.
    func count(_ tap: Tap) async throws(Refusal) -> UUID {
        for look in 0...lookCount {
            if look > 0 { await sleep(interval) }
            let result: ClickResult
            do throws(BatchFailure) { result = try await taps.count(tap) } catch { throw Refusal(error) }
            switch result {
            case .counted(let notification): return notification
            case .unknownDevice: throw tap.device.subscription == nil ? .unknownDevice : .unknownSubscription
            case .nothingDelivered(fanOutIsOpen: true): continue
            case .nothingDelivered(fanOutIsOpen: false): throw .nothingDelivered
            }
        }
        throw .nothingDelivered
    }
}

extension Refusal {
    fileprivate init(_ failure: BatchFailure) {
        switch failure {
        case .tooManyWaiting: self = .tooManyTaps(retryAfterSeconds: BatchLimits.retrySeconds)
        case .storage(let error): self = .storage(error)
        }
    }

    static let unknownDevice = Refusal.notFound("No device is registered under this push token.")
    fileprivate static let nothingDelivered = Refusal.notFound("No push of this activity was delivered to the device.")
}
