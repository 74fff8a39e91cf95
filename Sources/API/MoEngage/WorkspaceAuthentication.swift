import Gateway
import HTTP
import Security

/// Finds out which workspace asks on MoEngage's wire: Basic credentials of its identifier and a rest key, and a header that names it again.
struct WorkspaceAuthentication: Sendable {
    let directory: any PrincipalDirectory

    /// The app, which all three agree on.
    ///
    /// - Parameter header: what names the workspace; it is spelled differently on different routes.
    func application(of request: HTTPRequest, header: String) async throws(Refusal) -> Application {
        guard let named = request.headers[header.lowercased()], let credentials = Self.credentials(in: request.headers) else {
            throw .broadcast(.missingCredentials(header: header))
        }
        let workspace = UUID(Self.trimmed(named))
        guard let workspace, workspace == UUID(credentials.workspace) else { throw .broadcast(.invalidAppKey) }
        let digest = SHA256.digest(Array(credentials.key.utf8))
        let principal = try await Refusal.catching { () async throws(StorageError) in
            try await directory.principal(forKeyDigest: digest)
        }
        if let principal, principal.kind == .rest, principal.application.publicID == workspace { return principal.application }
        let known = try await Refusal.catching { () async throws(StorageError) in
            try await directory.application(named: workspace)
        }
        throw .broadcast(known == nil ? .invalidAppKey : .invalidDataKey)
    }

    /// The user name and the password; nil when there are none.
    private static func credentials(in headers: HTTPHeaders) -> (workspace: String, key: String)? {
        guard let value = headers["authorization"].map(trimmed),
            let space = value.firstIndex(of: " "), value[..<space].lowercased() == "basic",
            let bytes = Base64.decode(trimmed(String(value[space...]))), let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return (
            String(decoding: bytes[..<colon], as: UTF8.self), String(decoding: bytes[(colon + 1)...], as: UTF8.self)
        )
    }

    private static func trimmed(_ text: String) -> String {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard let first = text.utf8.firstIndex(where: { !isSpace($0) }), let last = text.utf8.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(text[first...last])
    }
}
