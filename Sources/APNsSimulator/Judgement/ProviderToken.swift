import JSON
import Security

/// The JSON Web Token of an `authorization` field, taken apart and not yet believed.
struct ProviderToken: Equatable {
    /// `kid` of the header.
    let keyID: String
    /// `iss` of the claims.
    let teamID: String
    /// `iat` of the claims, in seconds since 1970.
    let issuedAt: Int64
    /// Header and claims as they were signed.
    let signedBytes: [UInt8]
    let signature: [UInt8]

    /// Longest token looked at, in bytes; Apple's are about 200.
    static let byteCountLimit = 4096

    /// Reads three base64url parts; nil for anything that is not an ES256 token with a key, a team and a time.
    init?(_ text: some StringProtocol) {
        guard text.utf8.count <= ProviderToken.byteCountLimit else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = ProviderToken.object(parts[0]), let claims = ProviderToken.object(parts[1]),
            let signature = Base64.decodeURL(String(parts[2])), header["alg"]?.string == "ES256",
            let keyID = header["kid"]?.string, let teamID = claims["iss"]?.string, let issuedAt = claims["iat"]?.integer
        else { return nil }
        self.keyID = keyID
        self.teamID = teamID
        self.issuedAt = issuedAt
        self.signature = signature
        signedBytes = Array("\(parts[0]).\(parts[1])".utf8)
    }

    private static func object(_ part: some StringProtocol) -> JSONValue? {
        guard let bytes = Base64.decodeURL(String(part)), let document = try? JSONDocument(parsing: bytes, depthLimit: 4),
            document.root.kind == .object
        else { return nil }
        return document.root
    }

    /// The signature as the 64 bytes r and s that RFC 7518 asks for; a DER sequence is unpacked only when `acceptsDER`.
    func rawSignature(acceptsDER: Bool) -> [UInt8]? {
        if signature.count == 64 { return signature }
        return acceptsDER ? ProviderToken.unpackDER(signature) : nil
    }

    /// `SEQUENCE { INTEGER r, INTEGER s }` as r and s of 32 bytes each; nil for anything else.
    static func unpackDER(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= 8, bytes[0] == 0x30, Int(bytes[1]) == bytes.count - 2 else { return nil }
        var raw: [UInt8] = []
        var rest = bytes[2...]
        for _ in 0..<2 {
            guard rest.count > 2, rest[rest.startIndex] == 0x02 else { return nil }
            let count = Int(rest[rest.startIndex + 1])
            let number = rest.dropFirst(2).prefix(count)
            guard count > 0, number.count == count else { return nil }
            let digits = number.drop { $0 == 0 }
            guard digits.count <= 32 else { return nil }
            raw += [UInt8](repeating: 0, count: 32 - digits.count) + digits
            rest = rest.dropFirst(2 + count)
        }
        return rest.isEmpty ? raw : nil
    }
}
