/// One run of a campaign: an activity whose `activity_id` is the instance's identifier.
package struct BroadcastInstance: Sendable {
    package let id: String
    /// Seconds since 1970.
    package let startedAt: Int64
    /// When its cards are to be gone, seconds since 1970; nil when nobody said.
    package let dismissalDate: Int64?
    /// Whether an end was accepted, or another instance took its place.
    package let isEnded: Bool
    /// Whether it ended because its dismissal date had come.
    package let wasDismissed: Bool
    /// SHA-256 of the latest update or end; nil when there was none.
    package let latestDigest: [UInt8]?

    /// Puts together what the store holds.
    package init(
        id: String, startedAt: Int64, dismissalDate: Int64?, isEnded: Bool, wasDismissed: Bool, latestDigest: [UInt8]?
    ) {
        self.id = id
        self.startedAt = startedAt
        self.dismissalDate = dismissalDate
        self.isEnded = isEnded
        self.wasDismissed = wasDismissed
        self.latestDigest = latestDigest
    }

    /// Whether it keeps others of its campaign from starting.
    ///
    /// - Parameter now: seconds since 1970.
    package func isRunning(now: Int64) -> Bool {
        !isEnded && startedAt > now - ActivityWindow.updateSeconds && dismissalDate.map { $0 > now } ?? true
    }

    /// Why it does not take the update or end; nil when it does.
    ///
    /// Who names the instance wants duplicates refused; who does not may say the same twice.
    package func refusal(of update: BroadcastUpdate, now: Int64) -> BroadcastRefusal? {
        if update.instanceID != nil, let latestDigest, latestDigest == update.digest { return .duplicate }
        if isEnded { return wasDismissed ? .dismissed : .notRunning }
        if let dismissalDate, dismissalDate <= now { return .dismissed }
        return startedAt > now - update.event.windowSeconds ? nil : .notRunning
    }

    /// A new identifier in MoEngage's form: milliseconds since 1970, a hyphen, 8 random hexadecimal digits.
    package static func mint(milliseconds: Int64) -> String {
        var generator = SystemRandomNumberGenerator()
        let digits = String(generator.next() as UInt32, radix: 16)
        return "\(milliseconds)-" + String(repeating: "0", count: 8 - digits.count) + digits
    }
}
