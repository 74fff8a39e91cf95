import Gateway
import HTTP
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

    /// The keys a request offers; at most two.
    static func keys(in headers: HTTPHeaders) -> [String] {
        [headers["authorization"].map(key), headers["x-op-api-key"].map(trimmed)].compactMap { $0 }.filter { !$0.isEmpty }
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
            .countUnsaved, .listActivities, .listDeliveries, .readDevice, .listPushes, .readStatistics, .readMessage:
            [.rest]
        case .registerDevice, .setUpdateToken, .setStartToken, .removeStartToken, .recordClick, .endActivity: [.client, .rest]
        case .readNotification, .watchNotification, .listNotifications, .readActivity: [.read, .rest]
        case .live, .ready, .metrics, .openAPI: []
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
