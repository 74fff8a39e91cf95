// Sessions are a device's, and a change of a user is told to all of them.

extension DeviceRegistration {
    /// What of a change of a user is told to a device that is not the one the user is at: no session of another device.
    package var ofAnotherDevice: DeviceRegistration {
        var change = self
        change.addedSessionCount = 0
        change.addedSessionSeconds = 0
        change.firstSession = nil
        change.lastSession = nil
        return change
    }
}

extension UserDevice {
    /// Which of a user's devices a session belongs to: the one of the subscription, else the one that was active last, else the first.
    ///
    /// - Parameter devices: at least one; the device registered first comes first.
    package static func active(among devices: [UserDevice], subscription: UUID?) -> Int {
        precondition(!devices.isEmpty, "a user has a device")
        if let named = devices.firstIndex(where: { $0.subscriptionID == subscription }) { return named }
        let latest = devices.indices.max { first, second in
            (devices[first].profile.lastSession ?? 0, second) < (devices[second].profile.lastSession ?? 0, first)
        }
        return latest ?? 0
    }
}
