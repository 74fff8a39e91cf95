// TEMPORARY: delete this file when the store has a ledger of live notifications of its own. Until then no app has them switched on, so
// that their routes answer 404 and nothing here is called.
package import Gateway
package import Store

extension Store: InstanceLedger {
    package func admitInstanceCall(of application: ApplicationID) async throws(StorageError) -> RateDecision {
        throw .unavailable
    }
    package func attributesType(of notificationType: String, application: ApplicationID) async throws(StorageError) -> String? {
        throw .unavailable
    }
    package func register(attributesType: String?, of notificationType: String, application: ApplicationID)
        async throws(StorageError)
    {
        throw .unavailable
    }
    package func start(_ start: StoredInstanceStart, application: Application) async throws(StorageError) -> Bool {
        throw .unavailable
    }
    package func update(_ update: StoredInstanceUpdate, application: Application)
        async throws(StorageError) -> InstanceUpdateAcceptance
    {
        throw .unavailable
    }
    package func report(_ report: InstanceReport, application: ApplicationID) async throws(StorageError) -> Bool {
        throw .unavailable
    }
    package func count(opened: Bool, delivery: InstanceID, messageID: String, application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        throw .unavailable
    }
    package func instance(_ id: InstanceID, application: ApplicationID) async throws(StorageError) -> Instance? {
        throw .unavailable
    }
    package func deliveries(of id: InstanceID, after: InstanceID?, limit: Int, application: ApplicationID)
        async throws(StorageError) -> InstancePage<InstanceDelivery>?
    {
        throw .unavailable
    }
    package func instances(of profile: AliasReference, after: InstanceID?, limit: Int, application: ApplicationID)
        async throws(StorageError) -> InstancePage<Instance>
    {
        throw .unavailable
    }
    package func notificationTypes(application: ApplicationID) async throws(StorageError) -> [NotificationType] {
        throw .unavailable
    }
    package func name(_ friendlyName: String?, notificationType: String, application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        throw .unavailable
    }
}
