import Security

/// Keys for tests. The P-256 pair is the public example of RFC 7515, appendix A.3; the others were made for these tests with
/// `openssl genpkey` and open nothing.
enum SampleKeys {
    private static let privateNumber = Base64.decodeURL("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI") ?? []
    private static let publicPoint =
        [4] + (Base64.decodeURL("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU") ?? [])
        + (Base64.decodeURL("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0") ?? [])

    /// What RFC 7515 A.3 signs.
    static let signedMessage = Array(
        ("eyJhbGciOiJFUzI1NiJ9."
            + "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ").utf8)
    /// The signature RFC 7515 A.3 gives.
    static let signature =
        Base64.decodeURL("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q") ?? []

    /// PKCS#8, as `openssl genpkey` writes it.
    static let pkcs8 = pem(
        "PRIVATE KEY", "308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420", privateNumber, "a144034200",
        publicPoint)
    /// PKCS#8 that names the curve once more inside, as Apple's `AuthKey_*.p8` files do.
    static let authKey = pem(
        "PRIVATE KEY", "308193020100301306072a8648ce3d020106082a8648ce3d030107047930770201010420", privateNumber,
        "a00a06082a8648ce3d030107a144034200", publicPoint)
    /// SEC 1, as `openssl ecparam -genkey` writes it, with the parameters in front.
    static let sec1 =
        "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
        + pem("EC PRIVATE KEY", "30770201010420", privateNumber, "a00a06082a8648ce3d030107a144034200", publicPoint)
    /// The public half.
    static let publicKey = pem("PUBLIC KEY", "3059301306072a8648ce3d020106082a8648ce3d030107034200", publicPoint)

    private static func pem(
        _ label: String, _ head: String, _ first: [UInt8], _ middle: String = "", _ second: [UInt8] = []
    ) -> String {
        let bytes = (Hexadecimal.decode(head) ?? []) + first + (Hexadecimal.decode(middle) ?? []) + second
        let text = Array(Base64.encode(bytes))
        let lines = stride(from: 0, to: text.count, by: 64).map { String(text[$0..<min($0 + 64, text.count)]) }
        return "-----BEGIN \(label)-----\n\(lines.joined(separator: "\n"))\n-----END \(label)-----\n"
    }

    /// On another curve.
    static let p384 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDAMyEgXgSrZB0dzPnoQ
        aAfHxTt1SX3v58pQsixonar0qT8T0zvpciNB3oE5xjxo7KahZANiAARpWvvA6uYE
        qinAZqcBhXftW3QQTC3p9eUtjQWsqSOobO9+wpbPbtCd/X7OS+wPll0tJYB7lYQ9
        tzeDBJ7/T08qTtUnjX+q9TYmXfEp/jG7QJdDDIjCx435SoNaOYWheSQ=
        -----END PRIVATE KEY-----
        """

    /// On a curve of the same size.
    static let secp256k1 = """
        -----BEGIN PRIVATE KEY-----
        MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgiGqTGQauq1J1sQMv7wi7
        j8Gt6/JWJJqGW/Ho6Vx3K5KhRANCAARSTncXYEwC36A5WApJ4ZxHYlF3jYPd1HpA
        7umZ9sweILJh9/CwGWvzAeE7ihd4sgszYv0SUCdaPX/+Nm9QhNoz
        -----END PRIVATE KEY-----
        """

    /// Of another kind.
    static let ed25519 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIC1g7kAzn31rVtomrcQSp9WyyJDBl2i7LYHS88I+t4TO
        -----END PRIVATE KEY-----
        """

    /// On P-256, encrypted.
    static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAip5acIW9yfwAICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEAIMQAdh2PkCWfBTrm7+2jUEgZDk
        tRjPRmQlHj7g+ZILKqAbLkWpyGL4Bva31VGym6CqpRb8yLLSvtDg/UghwFDRTFsY
        UxOFOEs7jtxV8E50Oh0aiohSGB0isNdUxOA9v0Cc1IkUBNDkyY9Uk7gT+3rFIFFY
        1RMK0CVw7DO9Vgb5cs7H9ytUSpLIkriDIMD9cPBRiGpq4455ffwKxeuzA0XVUTw=
        -----END ENCRYPTED PRIVATE KEY-----
        """

    /// The public half of `p384`.
    static let p384Public = """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEaVr7wOrmBKopwGanAYV37Vt0EEwt6fXl
        LY0FrKkjqGzvfsKWz27Qnf1+zkvsD5ZdLSWAe5WEPbc3gwSe/09PKk7VJ41/qvU2
        Jl3xKf4xu0CXQwyIwseN+UqDWjmFoXkk
        -----END PUBLIC KEY-----
        """

    /// The public half of `ed25519`.
    static let ed25519Public = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEA7fk/FDUllUo60qxIJI6zKl4brTSnG/fH83S0Vy4+jII=
        -----END PUBLIC KEY-----
        """
}
