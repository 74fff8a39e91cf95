import Gateway

/// Outcomes for SQL's `in`.
extension DeliveryReason {
    /// After these a device is not sent the state again.
    static let acceptedList = list(.accepted)
    /// These ask to stop until the device's token is told again.
    static let deadList = "(\(unregistered.rawValue), \(expiredToken.rawValue))"

    /// All reasons that count so.
    static func list(_ tallies: Tally...) -> String {
        let numbers = names.map(\.reason).filter { tallies.contains($0.tally) }.map { "\($0.rawValue)" }
        return "(\(numbers.joined(separator: ", ")))"
    }
}
