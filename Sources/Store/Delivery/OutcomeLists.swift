import Gateway

extension DeliveryReason {
    /// The outcomes after which a device is not sent the state again, and those that ask to stop until its token is told again: for
    /// SQL's `in`.
    static let acceptedList = "(\(accepted.rawValue), \(acceptedForChannel.rawValue))"
    static let deadList = "(\(unregistered.rawValue), \(expiredToken.rawValue))"
}
