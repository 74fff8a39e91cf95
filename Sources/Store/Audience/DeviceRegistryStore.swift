package import Gateway
import PostgreSQL

extension Store: DeviceRegistry {
    package func register(_ device: DeviceRegistration, application: Application)
        async throws(StorageError) -> RegistrationResult
    {
        try await store(device, application: application)
    }

    package func setStartToken(_ token: [UInt8], activityType: String, pushToken: [UInt8], application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        try await store(startToken: token, activityType: activityType, pushToken: pushToken, application: application)
    }

    package func removeStartToken(activityType: String, pushToken: [UInt8], application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        try await remove(startTokenOf: activityType, pushToken: pushToken, application: application)
    }

    package func setUpdateToken(_ registration: UpdateTokenRegistration, application: ApplicationID)
        async throws(StorageError) -> UpdateTokenResult
    {
        try await store(registration, application: application)
    }

    package func endActivity(_ activityID: String, pushToken: [UInt8], application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        let held = try await query(
            UpdateTokenStatements.end, [.application(application), .bytes(pushToken), .text(activityID)])
        return held.rowCount == 1
    }
}
