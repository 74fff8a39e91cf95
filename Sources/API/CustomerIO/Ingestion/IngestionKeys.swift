import Gateway
import HTTP
import Security

extension Authentication {
    /// Who sends events: the principal of the first key in force with which devices may tell things; nil when there is none.
    ///
    /// - Parameter writeKey: the key in the body.
    func sender(of request: HTTPRequest, writeKey: String?) async throws(Refusal) -> Principal? {
        let basic = Self.userName(inBasic: request.headers["authorization"])
        let offered = [basic].compactMap(\.self) + Self.keys(in: request.headers) + [writeKey].compactMap(\.self)
        return try await sender(with: offered)
    }

    /// The same for keys that came otherwise; at most four.
    func sender(with keys: [String]) async throws(Refusal) -> Principal? {
        for key in keys where !key.isEmpty {
            let digest = SHA256.digest(Array(key.utf8))
            let principal = try await Refusal.catching { () async throws(StorageError) in
                try await directory.principal(forKeyDigest: digest)
            }
            if let principal, principal.kind != .read { return principal }
        }
        return nil
    }

    /// What stands before the colon of Basic credentials with a blank password, as Customer.io's clients put the key (RFC 7617).
    private static func userName(inBasic authorization: String?) -> String? {
        guard let words = authorization?.split(separator: " "), words.count == 2, words[0].lowercased() == "basic",
            let bytes = Base64.decode(words[1]), bytes.last == UInt8(ascii: ":")
        else { return nil }
        return String(validating: bytes.dropLast(), as: UTF8.self)
    }
}
