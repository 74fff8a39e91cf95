import Gateway

/// Who calls a device route of OneSignal's wire, and what may be touched by it.
struct Caller: Sendable {
    /// What the caller showed.
    enum Standing: Hashable, Sendable {
        /// A `rest` key: everything of the app.
        case backend
        /// A token of the app's backend: the devices of this user.
        case user(IdentityClaims)
        /// A key that ships inside the app, or none: what has a name that only the device knows.
        case device
    }

    let application: Application
    let standing: Standing

    /// What a user proved.
    var proof: DeviceAlias? {
        if case .user(let claims) = standing { claims.proof } else { nil }
    }

    /// Every name that a device of this caller's may have, in an app where each needs a voucher; nil elsewhere.
    var vouchedAliases: [ExactText: ExactText]? {
        guard application.deviceAccess.requiresIdentity, case .user(let claims) = standing else { return nil }
        return claims.aliases
    }

    /// The devices of the user of a path `users/by/{label}/{id}`.
    ///
    /// A device that proved nothing may only give the name that it alone was told: what an app calls its users can be guessed.
    func user(label: String, identifier: String) throws(Refusal) -> UserSelector {
        let rule = { (text: String) throws(FieldProblem) -> ExactText in ExactText(try FieldRule.identifier(text)) }
        let alias = DeviceAlias(
            label: try Refusal.reading(label, as: "label", rule), identifier: try Refusal.reading(identifier, as: "id", rule))
        guard standing != .device else {
            guard alias.label == DeviceProfile.userIDLabel else { throw .unprovenName(alias.label.text) }
            return UserSelector(.alias(alias), isWholeUser: false, proof: nil)
        }
        return UserSelector(.alias(alias), isWholeUser: true, proof: proof)
    }

    /// The device of a subscription, with the rest of its user where all of it is asked for and may be seen.
    func device(_ subscription: UUID, withUser: Bool = false) -> UserSelector {
        UserSelector(.subscription(subscription), isWholeUser: withUser && standing != .device, proof: proof)
    }

    /// A registration the caller may make: no name in it that its token does not vouch for.
    func admitting(_ registration: DeviceRegistration) throws(Refusal) -> DeviceRegistration {
        guard case .user(let claims) = standing else { return registration }
        if let label = claims.uncoveredLabel(in: registration) { throw .uncoveredName(label.text) }
        var registration = registration
        registration.vouchedAliases = vouchedAliases
        return registration
    }
}
