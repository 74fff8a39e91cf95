import COpenSSL

/// A certificate with its private key, both PEM.
package struct IssuedCertificate: Sendable {
    /// The certificate alone; peers know the authority.
    package let certificatePEM: [UInt8]
    /// Its key, PKCS#8, not encrypted.
    package let keyPEM: [UInt8]
}

/// A small certificate authority for the simulator and for tests: P-256 keys, valid for a year.
package struct CertificateAuthority: Sendable {
    /// How long certificates are valid, in seconds.
    private static let validitySeconds = 365 * 86_400
    /// How far back validity begins, in seconds, so that a peer whose clock is behind accepts them.
    private static let backdatingSeconds = 3_600
    /// Longest common name. Source: RFC 5280, ub-common-name.
    private static let commonNameByteCount = 64

    private let certificate: Certificate
    private let key: KeyHandle

    /// The authority's certificate: what a client trusts as an extra root.
    package var certificatePEM: [UInt8] { certificate.pem }
    /// The authority's key, PKCS#8, not encrypted.
    package var keyPEM: [UInt8] { key.privatePEM }

    private init(_ certificate: Certificate, _ key: KeyHandle) {
        self.certificate = certificate
        self.key = key
    }

    /// Makes an authority with a new key; `commonName` has 1 to 64 bytes.
    package static func generate(commonName: String) throws(SecurityError) -> CertificateAuthority {
        let key = KeyHandle.generateP256()
        let certificate = try make(
            commonName: commonName, key: key, signedBy: nil,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
                (NID_subject_key_identifier, "hash"),
            ])
        return CertificateAuthority(certificate, key)
    }

    /// Takes up an authority made earlier. Throws when either cannot be read or the key is another's.
    package init(certificatePEM: [UInt8], keyPEM: [UInt8]) throws(SecurityError) {
        certificate = try Certificate.all(pem: certificatePEM, "authority certificate")[0]
        key = try KeyHandle.privateKey(pem: keyPEM, "authority key")
        guard unsafe X509_check_private_key(certificate.pointer, key.pointer) == 1 else { throw .lastRefusal("authority key") }
    }

    /// Makes a key and a server certificate for `hosts`: DNS names and IP addresses, one at least.
    package func issue(hosts: [String]) throws(SecurityError) -> IssuedCertificate {
        var names: [String] = []
        for host in hosts {
            // The text becomes openssl.cnf notation, where these would begin something else.
            guard !host.isEmpty, !host.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: ",") || $0 >= 0x7F }) else {
                throw .invalidInput(operation: "certificate", reason: "not a host name")
            }
            names.append((Self.isAddress(host) ? "IP:" : "DNS:") + host)
        }
        guard let first = hosts.first else { throw .invalidInput(operation: "certificate", reason: "no host") }
        let key = KeyHandle.generateP256()
        let issued = try Self.make(
            commonName: String(first.prefix(Self.commonNameByteCount)), key: key, signedBy: self,
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"), (NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid"),
                (NID_subject_alt_name, names.joined(separator: ",")),
            ])
        return IssuedCertificate(certificatePEM: issued.pem, keyPEM: key.privatePEM)
    }

    private static func isAddress(_ host: String) -> Bool {
        guard let address = unsafe a2i_IPADDRESS(host) else { return false }
        unsafe ASN1_OCTET_STRING_free(address)
        return true
    }

    /// Makes and signs a certificate; without an authority it signs itself.
    private static func make(
        commonName: String, key: KeyHandle, signedBy authority: CertificateAuthority?, extensions: [(Int32, String)]
    ) throws(SecurityError) -> Certificate {
        OpenSSLErrorQueue.clear()
        guard let pointer = unsafe X509_new() else { throw .lastFailure("certificate") }
        let certificate = unsafe Certificate(owning: pointer)
        let issuer = authority?.certificate ?? certificate
        // 16 random bytes, the first bit cleared: positive, and never the same twice.
        var serial = RandomBytes.generate(count: 16)
        serial[0] &= 0x7F
        let number = unsafe BN_bin2bn(serial, Int32(serial.count), nil)
        defer { unsafe BN_free(number) }
        let name = unsafe X509_get_subject_name(pointer)
        guard unsafe X509_set_version(pointer, Int(X509_VERSION_3)) == 1,
            unsafe BN_to_ASN1_INTEGER(number, X509_get_serialNumber(pointer)) != nil,
            unsafe X509_gmtime_adj(X509_getm_notBefore(pointer), -backdatingSeconds) != nil,
            unsafe X509_gmtime_adj(X509_getm_notAfter(pointer), validitySeconds) != nil,
            unsafe X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8, commonName, -1, -1, 0) == 1,
            unsafe X509_set_issuer_name(pointer, X509_get_subject_name(issuer.pointer)) == 1,
            unsafe X509_set_pubkey(pointer, key.pointer) == 1
        else { throw .lastRefusal("certificate") }
        for (identifier, value) in extensions {
            guard unsafe openpushd_certificate_add_extension(pointer, issuer.pointer, identifier, value) == 1 else {
                throw .lastRefusal("certificate")
            }
        }
        guard unsafe X509_sign(pointer, (authority?.key ?? key).pointer, EVP_sha256()) > 0 else {
            throw .lastFailure("certificate")
        }
        return certificate
    }
}
