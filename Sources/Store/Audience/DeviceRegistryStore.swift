package import Gateway
import PostgreSQL

extension Store: DeviceRegistry {
    package func register(_ device: DeviceRegistration, application: Application)
        async throws(StorageError) -> RegistrationResult
    {
        switch try await store(device, application: application) {
        case .registered(let stored, let isNew):
            .registered(RegisteredDevice(subscriptionID: stored.subscriptionID, isNew: isNew))
        case .unknown: preconditionFailure("a device that may be new is never unknown")
        case .refused(.tooManyTags): .tooManyTags
        case .refused(.tooManyAliases): .tooManyAliases
        }
    }

    package func has(_ alias: DeviceAlias, device: DeviceName, application: ApplicationID) async throws(StorageError) -> Bool {
        let found = try await query(
            DeviceStatements.hasAlias[device], device.parameters(with: alias, application))
        return found.rowCount == 1
    }

    package func setStartToken(_ registration: StartTokenRegistration) async throws(StorageError) -> Bool {
        try await setStartTokens([registration])[0]
    }

    package func removeStartToken(activityType: String, device: DeviceName, application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        try await remove(startTokenOf: activityType, device: device, application: application)
    }

    package func setUpdateToken(_ registration: UpdateTokenRegistration, application: ApplicationID)
        async throws(StorageError) -> UpdateTokenResult
    {
        try await store(registration, application: application)
    }

    package func endActivity(_ activityID: String, device: DeviceName, application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        let held = try await query(
            UpdateTokenStatements.end[device], [.application(application), device.parameter, .text(activityID)])
        return held.rowCount == 1
    }
}
