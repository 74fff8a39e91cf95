import Gateway

/// Stores what events say, through the same ports as every other dialect. Each event may come again: nothing counts or changes twice.
struct EventKeeping: Sendable {
    let registry: any DeviceRegistry
    let users: any UserRegistry
    let instances: any InstanceLedger

    /// Stores one event. What happened before it must be stored already.
    func keep(_ event: ToldEvent, application: Application) async throws(StorageError) -> EventOutcome {
        switch event {
        case .identified(let names, let device): try await keep(names, device, application)
        case .device(let device): try await register(device, application)
        case .userLeft(let pushToken, let user): try await release(pushToken, of: user, application)
        case .startToken(let told): try await keep(told, application)
        case .updateToken(let told): try await keep(told, application)
        case .report(let report, let device): try await keep(report, device, application)
        case .delivery(let delivery, let isOpened, let messageID):
            try await instances.count(
                opened: isOpened, delivery: delivery, messageID: messageID, application: application.id)
                ? .applied : .unknownDelivery
        }
    }

    // MARK: Devices

    /// Names are told once, perhaps before the device has a push token, and are the user's on all devices.
    private func keep(
        _ names: ProfileNames, _ device: DeviceRegistration?, _ application: Application
    ) async throws(StorageError) -> EventOutcome {
        // Kept last: what fails before is told again, and is new again.
        if try await isNew(names, application) {
            var change = DeviceRegistration()
            change.aliases = names.names
            let user = DeviceAlias(label: DeviceProfile.externalIDLabel, identifier: ExactText(names.user))
            let others = UserSelector(.alias(user), isWholeUser: false, proof: nil)
            // A name that more devices have than one user can is nobody's; the device itself is told below.
            _ = try await users.changeUser(others, by: change, application: application.id)
            _ = try await instances.keep(names, application: application.id)
        }
        guard let device else { return .applied }
        return try await register(device, application)
    }

    private func isNew(_ names: ProfileNames, _ application: Application) async throws(StorageError) -> Bool {
        guard !names.names.isEmpty else { return false }
        let known = try await instances.names(ofUser: names.user, application: application.id)
        return names.names.contains { label, name in known[label] != name }
    }

    private func register(
        _ device: DeviceRegistration, _ application: Application
    ) async throws(StorageError) -> EventOutcome {
        var device = device
        if let user = device.externalID, ProfileNames.labels.contains(where: { device.aliases[$0] == nil }) {
            let kept = try await instances.names(ofUser: user, application: application.id)
            for (label, name) in kept where device.aliases[label] == nil { device.aliases.updateValue(name, forKey: label) }
        }
        switch try await registry.register(device, application: application) {
        case .registered: return .applied
        case .tooManyTags, .tooManyAliases: return .refused
        }
    }

    /// The device is nobody's from now on, unless it has another user already. It stays, since the next user may get it.
    private func release(
        _ pushToken: [UInt8], of user: DeviceAlias, _ application: Application
    ) async throws(StorageError) -> EventOutcome {
        guard try await registry.has(user, device: .pushToken(pushToken), application: application.id) else { return .foreign }
        var device = DeviceRegistration(pushToken: pushToken)
        device.namesWholeUser = true
        return try await register(device, application)
    }

    // MARK: Tokens

    private func keep(_ told: ToldEvent.TypeToken, _ application: Application) async throws(StorageError) -> EventOutcome {
        let registered = try await instances.attributesType(of: told.notificationType, application: application.id)
        let type =
            told.platform == .android
            ? told.notificationType : activityType(told.attributesType ?? registered, of: told.notificationType)
        // The token is the phone's, whoever uses it.
        let registration = StartTokenRegistration(
            application: application.id, device: .pushToken(told.pushToken), activityType: type, token: told.token)
        if try await !registry.setStartToken(registration) {
            let outcome = try await register(told.device, application)
            guard outcome == .applied else { return outcome }
            guard try await registry.setStartToken(registration) else { return .noDevice }
        }
        // Mostly it is noted already, and all devices of an app would wait for the one row.
        if registered == nil || told.attributesType != nil && told.attributesType != registered {
            try await instances.register(
                attributesType: told.attributesType, of: told.notificationType, application: application.id)
        }
        return .applied
    }

    private func keep(_ told: ToldEvent.InstanceToken, _ application: Application) async throws(StorageError) -> EventOutcome {
        let registered = try await instances.attributesType(of: told.notificationType, application: application.id)
        let type = activityType(registered, of: told.notificationType)
        let registration = UpdateTokenRegistration(
            device: .pushToken(told.pushToken), activityID: "\(told.instance)", token: told.token, activityType: type,
            startedAt: nil)
        var result = try await registry.setUpdateToken(registration, application: application.id)
        if case .unknownDevice = result {
            let outcome = try await register(told.device, application)
            guard outcome == .applied else { return outcome }
            result = try await registry.setUpdateToken(registration, application: application.id)
        }
        switch result {
        case .stored: return .applied
        case .ended: return .ended
        case .unknownDevice: return .noDevice
        }
    }

    /// The type under which a start looks for tokens; `LiveNotifications` finds the same one.
    private func activityType(_ attributesType: String?, of notificationType: String) -> String {
        attributesType ?? InstanceContent.usualAttributesType(of: notificationType)
    }

    // MARK: Activities

    private func keep(
        _ report: InstanceReport, _ device: DeviceRegistration, _ application: Application
    ) async throws(StorageError) -> EventOutcome {
        var isKept = try await instances.report(report, application: application.id)
        switch report.event {
        case .start, .update:
            // Who starts an activity uses the device now. An end may come late, when that user has left it.
            if !isKept {
                let outcome = try await register(device, application)
                guard outcome == .applied else { return outcome }
                isKept = try await instances.report(report, application: application.id)
            }
        case .end:
            _ = try await registry.endActivity(
                "\(report.instance)", device: .pushToken(report.pushToken), application: application.id)
        }
        guard isKept else { return .foreign }
        if report.platform == .android, report.event == .start { return try await hold(report, application) }
        return .applied
    }

    /// An Android device tells no token of an activity: the gateway's updates of it go to the device's own.
    private func hold(_ report: InstanceReport, _ application: Application) async throws(StorageError) -> EventOutcome {
        let registration = UpdateTokenRegistration(
            device: .pushToken(report.pushToken), activityID: "\(report.instance)", token: report.pushToken,
            activityType: report.notificationType, startedAt: nil)
        switch try await registry.setUpdateToken(registration, application: application.id) {
        case .stored: return .applied
        case .ended: return .ended
        case .unknownDevice: return .noDevice
        }
    }
}
