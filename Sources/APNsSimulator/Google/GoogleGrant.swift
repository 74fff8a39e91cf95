import JSON
import Security

/// Judges what asks the token endpoint for an access token, as Google does: RFC 7523, with the rules of its own documentation.
enum GoogleGrant {
    /// What every grant is made out to, wherever the simulator listens.
    static let audience = "https://oauth2.googleapis.com/token"
    private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static let scopes = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]
    /// Longest life of a grant, and how far a clock may be off, in seconds.
    private static let longestSeconds: Int64 = 3600
    private static let toleranceSeconds: Int64 = 300

    /// Why a grant is refused: `error` and `error_description` of the answer.
    struct Refusal: Error, Equatable {
        let error: String
        let description: String
    }

    /// The account that asks. `form` is the body of the request.
    static func account(
        _ form: [(name: String, value: String)], accounts: [GoogleAccount], nowSeconds: Int64
    ) throws(Refusal) -> GoogleAccount {
        func value(_ name: String) -> String? { form.first { $0.name == name }?.value }
        guard value("grant_type") == grantType else {
            throw Refusal(error: "unsupported_grant_type", description: "Invalid grant_type: \(value("grant_type") ?? "")")
        }
        let parts = (value("assertion") ?? "").split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let head = object(parts[0]), let claims = object(parts[1]),
            let signature = Base64.decodeURL(parts[2])
        else { throw invalid("Bad Request: the assertion is no JWT") }
        guard head["alg"]?.string == "RS256" else { throw invalid("Invalid JWT: alg must be RS256") }
        let issuer = claims["iss"]?.string
        let keyID = head["kid"]?.string
        guard let account = accounts.first(where: { $0.email == issuer && (keyID == nil || $0.keyID == keyID) }) else {
            throw invalid("Invalid grant: account not found")
        }
        guard account.publicKey.verifies(signature: signature, message: Array("\(parts[0]).\(parts[1])".utf8)) else {
            throw invalid("Invalid JWT Signature.")
        }
        guard claims["aud"]?.string == audience else { throw invalid("Invalid JWT: aud must be \(audience)") }
        guard let issuedAt = claims["iat"]?.integer, let expiresAt = claims["exp"]?.integer, expiresAt > issuedAt,
            expiresAt - issuedAt <= longestSeconds, issuedAt <= nowSeconds + toleranceSeconds,
            expiresAt > nowSeconds - toleranceSeconds
        else {
            throw invalid(
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values"
            )
        }
        guard let scope = claims["scope"]?.string, scope.split(separator: " ").contains(where: { scopes.contains(String($0)) })
        else {
            throw Refusal(error: "invalid_scope", description: "Invalid OAuth scope or ID token audience provided.")
        }
        return account
    }

    private static func invalid(_ description: String) -> Refusal { Refusal(error: "invalid_grant", description: description) }

    private static func object(_ part: Substring) -> JSONValue? {
        guard let bytes = Base64.decodeURL(part), let root = try? JSONDocument(parsing: bytes, depthLimit: 4).root else {
            return nil
        }
        return root.kind == .object ? root : nil
    }
}
