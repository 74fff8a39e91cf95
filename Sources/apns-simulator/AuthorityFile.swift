import Security

/// The certificate authority, kept in two files so that senders can trust it once and for all.
enum AuthorityFile {
    /// Uses the authority at `path` when it is there, and otherwise makes one and writes it there; nil keeps it in memory.
    static func load(_ path: String?) throws -> CertificateAuthority {
        guard let path else { return try CertificateAuthority.generate(commonName: "APNs simulator authority") }
        let keyPath = path + ".key"
        if File.exists(path), File.exists(keyPath) {
            return try CertificateAuthority(certificatePEM: File.read(path), keyPEM: File.read(keyPath))
        }
        let authority = try CertificateAuthority.generate(commonName: "APNs simulator authority")
        // The key first: a certificate whose key is missing would be trusted for nothing.
        try File.write(authority.keyPEM, to: keyPath, mode: 0o600)
        try File.write(authority.certificatePEM, to: path, mode: 0o644)
        return authority
    }
}
