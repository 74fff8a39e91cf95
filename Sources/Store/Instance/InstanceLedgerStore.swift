package import Gateway
import PostgreSQL

extension Store: InstanceLedger {
    package func admitInstanceCall(of application: ApplicationID) async throws(StorageError) -> RateDecision {
        try await admit(callOf: application, .instances)
    }

    package func attributesType(of notificationType: String, application: ApplicationID)
        async throws(StorageError) -> String?
    {
        let found = try await query(
            NotificationTypeStatements.attributesType, [.application(application), .text(notificationType)])
        return found.rowCount == 1 ? found.text(row: 0, column: 0) : nil
    }

    /// Most attributes types of one notification type that a start looks for; no app has so many versions in use.
    static let attributesTypeLimit = 32

    package func attributesTypes(of notificationType: String, application: ApplicationID)
        async throws(StorageError) -> [String]
    {
        let found = try await query(
            NotificationTypeStatements.attributesTypes, [.application(application), .text(notificationType)])
        return (0..<found.rowCount).map { found.text(row: $0, column: 0) }
    }

    package func register(attributesType: String?, of notificationType: String, application: ApplicationID)
        async throws(StorageError)
    {
        try await query(
            NotificationTypeStatements.record,
            [.application(application), .text(notificationType), Parameter(attributesType)])
    }

    package func keep(_ names: ProfileNames, application: ApplicationID) async throws(StorageError) -> Bool {
        try await storeNames(names, application: application)
    }

    package func names(ofUser user: String, application: ApplicationID) async throws(StorageError) -> [ExactText: String] {
        try await readNames(ofUser: user, application: application)
    }

    package func start(_ start: StoredInstanceStart, application: Application) async throws(StorageError) -> Bool {
        try await startInstance(start, application: application)
    }

    package func update(_ update: StoredInstanceUpdate, application: Application)
        async throws(StorageError) -> InstanceUpdateAcceptance
    {
        try await updateInstance(update, application: application)
    }

    package func report(_ report: InstanceReport, application: ApplicationID) async throws(StorageError) -> Bool {
        try await storeReport(report, application: application)
    }

    package func count(opened: Bool, delivery: InstanceID, messageID: String, application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        try await storeCount(opened: opened, delivery: delivery, messageID: messageID, application: application)
    }

    package func instance(_ id: InstanceID, application: ApplicationID) async throws(StorageError) -> Instance? {
        try await readInstance(id, application: application)
    }

    package func deliveries(of id: InstanceID, after: InstanceID?, limit: Int, application: ApplicationID)
        async throws(StorageError) -> InstancePage<InstanceDelivery>?
    {
        try await readDeliveries(of: id, after: after, limit: limit, application: application)
    }

    package func instances(of profile: AliasReference, after: InstanceID?, limit: Int, application: ApplicationID)
        async throws(StorageError) -> InstancePage<Instance>
    {
        try await readInstances(of: profile, after: after, limit: limit, application: application)
    }

    package func notificationTypes(application: ApplicationID) async throws(StorageError) -> [NotificationType] {
        let found = try await query(NotificationTypeStatements.list, [.application(application)])
        return (0..<found.rowCount).map {
            NotificationType(
                identifier: found.text(row: $0, column: 0), attributesType: found.optionalText(row: $0, column: 1),
                friendlyName: found.optionalText(row: $0, column: 2))
        }
    }

    package func name(_ friendlyName: String?, notificationType: String, application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        let named = try await query(
            NotificationTypeStatements.name,
            [.application(application), .text(notificationType), Parameter(friendlyName)])
        return named.affectedRowCount == 1
    }
}
