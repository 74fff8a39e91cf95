/// Counts the taps of one loop together.
package struct BatchedTaps: TapCounter {
    private let batcher: RequestBatcher<Tap, ClickResult>

    package init(_ batcher: RequestBatcher<Tap, ClickResult>) { self.batcher = batcher }

    package func count(_ tap: Tap) async throws(BatchFailure) -> ClickResult { try await batcher.answer(tap) }
}

/// Looks up the keys of one loop together. Each look begins after the request came: a revoked key is refused at once, as ever.
package struct BatchedPrincipals: PrincipalDirectory {
    private let base: any PrincipalDirectory
    private let batcher: RequestBatcher<[UInt8], Principal?>

    package init(base: any PrincipalDirectory, batcher: RequestBatcher<[UInt8], Principal?>) {
        self.base = base
        self.batcher = batcher
    }

    package func principal(forKeyDigest digest: [UInt8]) async throws(StorageError) -> Principal? {
        do throws(BatchFailure) { return try await batcher.answer(digest) } catch { throw StorageError(error) }
    }

    package func application(named publicID: UUID) async throws(StorageError) -> Application? {
        try await base.application(named: publicID)
    }
}

/// Stores the start tokens of one loop together; everything else one by one.
package struct BatchedRegistry: DeviceRegistry {
    private let base: any DeviceRegistry
    private let batcher: RequestBatcher<StartTokenRegistration, Bool>

    package init(base: any DeviceRegistry, batcher: RequestBatcher<StartTokenRegistration, Bool>) {
        self.base = base
        self.batcher = batcher
    }

    package func setStartToken(_ registration: StartTokenRegistration) async throws(StorageError) -> Bool {
        do throws(BatchFailure) { return try await batcher.answer(registration) } catch { throw StorageError(error) }
    }

    package func register(_ device: DeviceRegistration, application: Application) async throws(StorageError) -> RegistrationResult
    {
        try await base.register(device, application: application)
    }

    package func has(_ alias: DeviceAlias, device: DeviceName, application: ApplicationID) async throws(StorageError) -> Bool {
        try await base.has(alias, device: device, application: application)
    }

    package func removeStartToken(activityType: String, device: DeviceName, application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        try await base.removeStartToken(activityType: activityType, device: device, application: application)
    }

    package func setUpdateToken(_ registration: UpdateTokenRegistration, application: ApplicationID)
        async throws(StorageError) -> UpdateTokenResult
    {
        try await base.setUpdateToken(registration, application: application)
    }

    package func endActivity(_ activityID: String, device: DeviceName, application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        try await base.endActivity(activityID, device: device, application: application)
    }
}
