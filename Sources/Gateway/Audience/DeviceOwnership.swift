/// When a device changes hands.
extension DeviceProfile {
    /// Whether the registration is another user's than the one the device has, or nobody's: then nothing of the former stays.
    package func isLeft(by registration: DeviceRegistration) -> Bool {
        isLeft(by: registration, told: registration.toldAliases)
    }

    /// - Parameter told: what the registration says of aliases.
    func isLeft(by registration: DeviceRegistration, told: [ExactText: ExactText?]) -> Bool {
        guard !aliases.isEmpty else { return false }
        // Devices of one user may differ in everything else.
        if let externalID, told[Self.externalIDLabel] == externalID { return false }
        let labels = [Self.externalIDLabel, Self.userIDLabel] + (registration.userLabel.map { [$0] } ?? [])
        if labels.contains(where: { contradicts(told, at: $0) }) { return true }
        // Whom an external_id names is somebody else only under another one.
        guard externalID == nil else { return false }
        let logsIn = (told[Self.externalIDLabel] ?? nil) != nil
        if logsIn, let vouched = registration.vouchedAliases, !isVouched(by: vouched) { return true }
        if let label = registration.userLabel, let identifier = aliases[label], told[label] == identifier { return false }
        if registration.namesWholeUser { return told.contains { $1 != nil && contradicts(told, at: $0) } }
        // The last name goes, and not even the gateway has one for the device.
        return aliases.keys.allSatisfy { told[$0] == .some(nil) }
    }

    /// Whether a push for a user that was named before may not reach the device any more.
    ///
    /// A device that has no `external_id` is whose its aliases are: one that lost any of them may have been named by it.
    package func leavesNamed(to after: DeviceProfile, by registration: DeviceRegistration) -> Bool {
        if isLeft(by: registration) { return true }
        return externalID == nil && aliases.contains { after.aliases[$0.key] != $0.value }
    }

    private func contradicts(_ told: [ExactText: ExactText?], at label: ExactText) -> Bool {
        guard let former = aliases[label], let change = told[label] else { return false }
        return change != former
    }

    private func isVouched(by vouched: [ExactText: ExactText]) -> Bool {
        aliases.allSatisfy { label, identifier in label == Self.userIDLabel || vouched[label] == identifier }
    }
}
