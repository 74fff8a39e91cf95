import Gateway
import HTTP
import JSON
import Security

/// Why a token that should say who a user is does not count.
enum IdentityProblem: Error, Hashable, Sendable {
    /// The app wants one, and there is none.
    case missing
    /// The app has no key to verify one with.
    case noKey
    /// It is no JSON Web Token, or longer than `IdentityToken.byteCount`.
    case malformed
    /// It is signed in another way than ES256, or wants something of its reader that this one does not know (`crit`).
    case wrongAlgorithm
    case badSignature
    case otherIssuer
    case noExpiry
    case expired
    case notYetValid
    /// It names nobody, or several names of which none is the `external_id`.
    case noUser

    /// What is wrong, after "The identity token".
    var reason: String {
        switch self {
        case .missing: "is missing: this app wants one in Authorization: Bearer"
        case .noKey: "cannot be verified: the app has no identity key"
        case .malformed: "is no JSON Web Token"
        case .wrongAlgorithm: "is not signed with ES256"
        case .badSignature: "is not signed with the app's identity key"
        case .otherIssuer: "is not of this app (iss)"
        case .noExpiry: "has no time at which it expires (exp)"
        case .expired: "has expired"
        case .notYetValid: "is not valid yet (nbf)"
        case .noUser: "names no user (identity, with external_id or one label; or sub)"
        }
    }
}

/// A JSON Web Token (RFC 7519) by which an app's backend says who a user is: signed with ES256, nothing else.
enum IdentityToken {
    /// Longest token, in bytes.
    static let byteCount = 4_096
    /// How far the clocks of the backend and of the gateway may differ, in seconds.
    static let clockSkewSeconds = 60.0

    /// What stands after `Bearer` in `Authorization` when it has the three parts of a token; an API key has none.
    static func candidate(in headers: HTTPHeaders) -> String? {
        guard let value = headers["authorization"], value.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 2 else { return nil }
        let words = value.split(whereSeparator: { $0 == " " || $0 == "\t" })
        guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
        return words[1].utf8.filter({ $0 == UInt8(ascii: ".") }).count == 2 ? String(words[1]) : nil
    }

    /// Who the token says the user is, once everything about it was verified.
    ///
    /// - Parameter now: seconds since 1970.
    static func claims(_ token: String, of application: Application, now: Int64) throws(IdentityProblem) -> IdentityClaims {
        guard let pem = application.deviceAccess.identityKeyPEM, let key = try? ES256PublicKey(pem: pem) else { throw .noKey }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard token.utf8.count <= byteCount, parts.count == 3, let header = object(parts[0]),
            let signature = Base64.decodeURL(parts[2])
        else { throw .malformed }
        guard header["alg"]?.string == "ES256", header["crit"] == nil else { throw .wrongAlgorithm }
        guard key.verifies(signature: signature, message: Array("\(parts[0]).\(parts[1])".utf8)) else { throw .badSignature }
        guard let body = object(parts[1]) else { throw .malformed }
        guard let issuer = body["iss"]?.string, UUID(issuer) == application.publicID else { throw .otherIssuer }
        guard let expiry = body["exp"], expiry.kind == .number, let end = expiry.double else { throw .noExpiry }
        guard Double(now) < end + clockSkewSeconds else { throw .expired }
        if let start = body["nbf"] {
            guard let begin = start.double, begin - clockSkewSeconds <= Double(now) else { throw .notYetValid }
        }
        guard let aliases = aliases(body), let claims = IdentityClaims(aliases: aliases) else { throw .noUser }
        return claims
    }

    private static func object(_ part: Substring) -> JSONValue? {
        guard let bytes = Base64.decodeURL(part), let root = try? JSONDocument(parsing: bytes).root, root.kind == .object else {
            return nil
        }
        return root
    }

    /// The members of `identity`, else `sub` as the external_id; nil when one is no identifier.
    private static func aliases(_ body: JSONValue) -> [ExactText: ExactText]? {
        guard let identity = body["identity"] else {
            guard let subject = body["sub"], let identifier = try? FieldRule.identifier(subject) else { return nil }
            return [DeviceProfile.externalIDLabel: ExactText(identifier)]
        }
        guard identity.kind == .object, identity.count <= AdmissionLimits.aliasCount + 1 else { return nil }
        var aliases: [ExactText: ExactText] = [:]
        for (label, value) in identity.lastMembers {
            guard let label = try? FieldRule.identifier(label), let identifier = try? FieldRule.identifier(value) else {
                return nil
            }
            aliases[ExactText(label)] = ExactText(identifier)
        }
        return aliases
    }
}
