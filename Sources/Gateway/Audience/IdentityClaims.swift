/// Who a user is, as the app's backend says by a signed token.
package struct IdentityClaims: Hashable, Sendable {
    /// Every name that the backend vouches for; never empty.
    package let aliases: [ExactText: ExactText]
    /// The one that tells this user's devices: `external_id`, or the only one.
    package let proof: DeviceAlias

    /// Nil when it does not tell which of several names is the user's.
    package init?(aliases: [ExactText: ExactText]) {
        let label = aliases.keys.count == 1 ? aliases.keys.first : DeviceProfile.externalIDLabel
        guard let label, let identifier = aliases[label] else { return nil }
        self.aliases = aliases
        proof = DeviceAlias(label: label, identifier: identifier)
    }

    /// The first name in a registration that the token does not vouch for. Giving a name up needs no voucher.
    package func uncoveredLabel(in registration: DeviceRegistration) -> ExactText? {
        registration.toldAliases.filter { label, identifier in identifier != nil && aliases[label] != identifier }.keys.min()
    }

    /// The registration, of a device of this user whether it says so or not; one that gives the proven name up gives it up.
    package func applied(to registration: DeviceRegistration) -> DeviceRegistration {
        var registration = registration
        if registration.aliases[proof.label] == .some(nil) {
            registration.userLabel = proof.label
            return registration
        }
        if proof.label == DeviceProfile.externalIDLabel {
            registration.externalID = proof.identifier.text
            registration.aliases[DeviceProfile.externalIDLabel] = nil
        } else {
            registration.aliases.updateValue(proof.identifier.text, forKey: proof.label)
            registration.userLabel = proof.label
        }
        return registration
    }
}
