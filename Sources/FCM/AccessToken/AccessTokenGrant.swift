import Gateway
import HTTP
import JSON
import Security

/// Asks Google for an access token: a signed JSON web token goes in, a bearer token comes out (RFC 7523).
enum AccessTokenGrant {
    /// Seconds a grant may be used. Source: Google allows one hour at most.
    static let lifetimeSeconds: Int64 = 3600
    /// Longest access token taken, in bytes. Google says to allow for 2,048.
    static let tokenByteCount = 2048
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"

    /// The request; `path` is that of the token endpoint.
    static func request(of account: ServiceAccount, path: String, wallSeconds: Int64) throws(SecurityError) -> HTTPClientRequest {
        let grant = try assertion(of: account, wallSeconds: wallSeconds)
        let body = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" + grant
        return HTTPClientRequest(
            method: "POST", path: path, fields: [HTTP2Field("content-type", "application/x-www-form-urlencoded")],
            body: Array(body.utf8))
    }

    private static func assertion(of account: ServiceAccount, wallSeconds: Int64) throws(SecurityError) -> String {
        var head = JSONWriter()
        head.beginObject()
        head.member("alg", "RS256")
        head.member("typ", "JWT")
        head.member("kid", account.account.keyID)
        head.endObject()
        var claims = JSONWriter()
        claims.beginObject()
        claims.member("iss", account.email)
        claims.member("scope", scope)
        claims.member("aud", account.tokenURI)
        claims.member("iat", wallSeconds)
        claims.member("exp", wallSeconds + lifetimeSeconds)
        claims.endObject()
        let message = Base64.encodeURL(head.bytes) + "." + Base64.encodeURL(claims.bytes)
        return message + "." + Base64.encodeURL(try account.key.sign(Array(message.utf8)))
    }

    /// What the answer means.
    static func reading(_ result: HTTPClientResult, wallSeconds: Int64) -> Result<AccessToken, AccessTokenFailure> {
        switch result {
        case .notSent(let failure), .unanswered(let failure):
            return .failure(AccessTokenFailure(reason: .connectionFailed, text: failure.description))
        case .response(let response):
            let root = try? JSONDocument(parsing: response.body, depthLimit: 8).root
            guard response.status == 200 else { return .failure(refusal(response.status, root?["error"]?.string)) }
            guard let token = root?["access_token"]?.string, let seconds = root?["expires_in"]?.integer, seconds > 0,
                (1...tokenByteCount).contains(token.utf8.count), token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                return .failure(AccessTokenFailure(reason: .otherServerError, text: "the answer holds no usable access_token"))
            }
            // Such a token would be asked for again at once, and again.
            guard .seconds(seconds) > AccessTokenState.lastUseMargin else {
                let text = "the access token lives for \(seconds) s, which is too short"
                return .failure(AccessTokenFailure(reason: .otherServerError, text: text))
            }
            return .success(AccessToken(token: token, expiresAt: wallSeconds + min(seconds, 24 * 3600)))
        }
    }

    /// Only the name of the error is kept: a description may repeat what was sent.
    private static func refusal(_ status: Int, _ error: String?) -> AccessTokenFailure {
        let name = error.map { $0.prefix(64).filter { $0.isASCII && ($0.isLetter || $0 == "_") } } ?? "no error named"
        let text = "status \(status), \(name)"
        let isAboutUs = (400..<500).contains(status) && status != 408 && status != 429
        return AccessTokenFailure(reason: isAboutUs ? .credentialsRefused : .otherServerError, text: text)
    }
}

/// Why no access token could be had.
struct AccessTokenFailure: Error, Equatable {
    /// What the pushes that wait for it are told.
    let reason: DeliveryReason
    /// For the log.
    let text: String
}
