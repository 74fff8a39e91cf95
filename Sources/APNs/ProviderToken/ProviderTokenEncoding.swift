import Gateway
import Security

/// Writes provider tokens: JSON web tokens signed with ES256 (RFC 7515, RFC 7518 section 3.4).
enum ProviderTokenEncoding {
    /// A token that says it was issued at this second.
    static func token(of key: ProviderKey, issuedAt: Int64, signedWith signingKey: ES256PrivateKey) throws(SecurityError)
        -> ProviderToken
    {
        // Team and key identifiers are letters and digits, checked where an app is created.
        let header = #"{"alg":"ES256","kid":"\#(key.keyID)"}"#
        let claims = #"{"iss":"\#(key.teamID)","iat":\#(issuedAt)}"#
        let message = Base64.encodeURL(Array(header.utf8)) + "." + Base64.encodeURL(Array(claims.utf8))
        let signature = try signingKey.sign(Array(message.utf8))
        return ProviderToken(token: message + "." + Base64.encodeURL(signature), issuedAt: issuedAt)
    }
}
