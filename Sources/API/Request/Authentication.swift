import Gateway
import HTTP
import JSON
import Security

/// Finds out who is asking. Keys are taken as they are written: nothing is base64-decoded.
struct Authentication: Sendable {
    /// The words that may stand before a key in `Authorization`, in any letter case.
    private static let schemes: Set<String> = ["key", "basic", "bearer"]

    let directory: any PrincipalDirectory

    /// The principal of the first key that is known, `Authorization` before `X-OP-API-Key`.
    func principal(of request: HTTPRequest) async throws(Refusal) -> Principal { try await authenticated(request).principal }

    /// The same, with the digest of the key.
    func authenticated(_ request: HTTPRequest) async throws(Refusal) -> (principal: Principal, keyDigest: [UInt8]) {
        for key in Self.keys(in: request.headers) {
            let digest = SHA256.digest(Array(key.utf8))
            do throws(StorageError) {
                if let principal = try await directory.principal(forKeyDigest: digest) { return (principal, digest) }
            } catch {
                throw .storage(error)
            }
        }
        throw .unauthorized
    }

    /// Who calls a device route of OneSignal's wire. A key says which app it is of; without one, the request does.
    ///
    /// - Parameter now: seconds since 1970.
    func caller(of request: HTTPRequest, for route: Route, parameters: [String], now: Int64) async throws(Refusal) -> Caller {
        guard Self.keys(in: request.headers).isEmpty else {
            let principal = try await principal(of: request)
            try principal.check(for: route, parameters: parameters)
            return try Self.caller(of: request, for: route, principal, now: now)
        }
        let application = try await application(of: request, for: route, parameters: parameters)
        let isNeeded = route.need == .user
        if let claims = try Self.claims(of: request, application: application, isNeeded: isNeeded, now: now) {
            return Caller(application: application, standing: .user(claims))
        }
        guard application.deviceAccess.isOpen else { throw .unauthorized }
        return Caller(application: application, standing: .device)
    }

    /// Who calls a device route with a key.
    static func caller(
        of request: HTTPRequest, for route: Route, _ principal: Principal, now: Int64
    ) throws(Refusal) -> Caller {
        let application = principal.application
        if principal.kind == .rest { return Caller(application: application, standing: .backend) }
        // A tap tells of what happened on a device; it proves nothing and shows nothing.
        let isNeeded = route.need == .user || route.need == nil && route != .recordClick
        let claims = try claims(of: request, application: application, isNeeded: isNeeded, now: now)
        return Caller(application: application, standing: claims.map { .user($0) } ?? .device)
    }

    /// Who the request's token says the user is; nil when it has none, and the app does not want one for this.
    private static func claims(
        of request: HTTPRequest, application: Application, isNeeded: Bool, now: Int64
    ) throws(Refusal) -> IdentityClaims? {
        guard let token = IdentityToken.candidate(in: request.headers) else {
            if isNeeded, application.deviceAccess.requiresIdentity { throw .identity(.missing) }
            return nil
        }
        do throws(IdentityProblem) { return try IdentityToken.claims(token, of: application, now: now) } catch {
            throw .identity(error)
        }
    }

    /// The app a request without a key names: in its path, else in its body.
    private func application(of request: HTTPRequest, for route: Route, parameters: [String]) async throws(Refusal) -> Application
    {
        let name: String?
        if route.pattern.contains(":app") {
            name = parameters.first
        } else {
            name = (try? JSONDocument(parsing: request.body))?.root["app_id"]?.string
        }
        guard let publicID = name.flatMap({ UUID($0) }) else { throw .unauthorized }
        let found = try await Refusal.catching { () async throws(StorageError) in try await directory.application(named: publicID)
        }
        guard let found else { throw .unauthorized }
        return found
    }

    /// The keys a request offers; at most two. What is a token of a user's identity is no key.
    static func keys(in headers: HTTPHeaders) -> [String] {
        let authorization = IdentityToken.candidate(in: headers) == nil ? headers["authorization"].map(key) : nil
        return [authorization, headers["x-op-api-key"].map(trimmed)].compactMap { $0 }.filter { !$0.isEmpty }
    }

    /// The key in a value of `Authorization`: what follows a known scheme, else the whole value.
    private static func key(inAuthorization value: String) -> String {
        let value = trimmed(value)
        guard let end = value.utf8.firstIndex(where: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) else {
            return value
        }
        guard schemes.contains(value[..<end].lowercased()) else { return value }
        return trimmed(String(value[end...]))
    }

    private static func trimmed(_ value: String) -> String {
        let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard let first = value.utf8.firstIndex(where: { !isSpace($0) }), let last = value.utf8.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(value[first...last])
    }
}

extension Route {
    /// The kinds of keys that may use it; none when it is open to everybody.
    var allowedKinds: Set<KeyKind> {
        switch self {
        case .startActivity, .pushActivity, .createAppSegment, .listAppSegments, .readAppSegment, .changeAppSegment,
            .removeAppSegment, .createSegment, .listSegments, .readSegment, .changeSegment, .removeSegment, .previewAudience,
            .countUnsaved, .listActivities, .listDeliveries, .readDevice, .listPushes, .readStatistics, .readMessage,
            .startLiveNotification, .updateLiveNotification, .endLiveNotification, .nameNotificationType, .createCampaign,
            .startBroadcast, .updateBroadcast, .endBroadcast:
            [.rest]
        case .registerDevice, .setUpdateToken, .setStartToken, .removeStartToken, .recordClick, .endActivity, .joinChannel,
            .createUser,
            .readUser,
            .changeUser, .removeUser, .readIdentity, .changeIdentity, .removeAlias, .addSubscription, .changeSubscription,
            .removeSubscription, .moveSubscription, .readSubscriptionIdentity, .changeSubscriptionIdentity, .setTypeToken,
            .removeTypeToken, .setActivityToken, .setUserActivityToken, .removeActivityToken, .confirmReceipt, .reportClick,
            .sendBatch, .sendPublicBatch, .sendTrack, .sendIdentify:
            [.client, .rest]
        case .readNotification, .watchNotification, .listNotifications, .readActivity, .listLiveNotifications,
            .listNotificationTypes, .readLiveNotification, .listInstanceDeliveries:
            [.read, .rest]
        case .readProjectSettings, .readClientParameters, .readAndroidParameters, .live, .ready, .metrics, .openAPI: []
        }
    }
}

extension Principal {
    /// Checks that the key may use the route, and belongs to the app in its path if there is one.
    func check(for route: Route, parameters: [String]) throws(Refusal) {
        guard route.allowedKinds.contains(kind) else { throw .wrongKeyKind(kind) }
        guard route.pattern.contains(":app"), let app = parameters.first else { return }
        guard let identifier = UUID(app), identifier == application.publicID else { throw .wrongApplication }
    }
}
