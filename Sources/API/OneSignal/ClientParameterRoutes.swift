import Gateway
import HTTP
import JSON

/// What OneSignal's SDKs ask for when an app starts, without a key. They send nothing before the answer.
struct ClientParameterRoutes: Sendable {
    let directory: any PrincipalDirectory

    /// - Parameter app: as the path has it.
    func respond(route: Route, app: String) async throws(Refusal) -> HTTPResponse {
        // The SDK for Android repeats every other refusal without end.
        guard route == .readClientParameters else { throw .unservedClient }
        guard let id = UUID(app) else { throw .unknownApplication }
        let found = try await Refusal.catching { () async throws(StorageError) in try await directory.application(named: id) }
        guard let found else { throw .unknownApplication }
        return .json(status: 200) { $0.member("jwt_required", found.deviceAccess.requiresIdentity) }
    }
}

extension Refusal {
    static let unknownApplication = Refusal.notFound("There is no app of this id.")
}
