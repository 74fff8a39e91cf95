import Testing

@testable import Security

@Suite("TLS context") struct TLSContextTests {
    @Test("refuses roots that hold no certificate or a broken one") func refusesBadRoots() throws {
        #expect(throws: SecurityError.self) { try TLSContext.client(extraRootsPEM: [], applicationProtocols: []) }
        let good = try TLSPair.authority.get().certificatePEM
        let broken = Array("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)
        #expect(throws: SecurityError.self) { try TLSContext.client(extraRootsPEM: good + broken, applicationProtocols: []) }
    }

    @Test("takes a bundle of several roots") func takesBundle() throws {
        let other = try CertificateAuthority.generate(commonName: "Other")
        let bundle = try Array("# comment\n".utf8) + other.certificatePEM + TLSPair.authority.get().certificatePEM
        try TLSPair(trusting: bundle).shakeHands()
    }

    @Test("refuses a key that is not the certificate's") func refusesForeignKey() throws {
        let authority = try TLSPair.authority.get()
        let one = try authority.issue(hosts: ["a.example"])
        let two = try authority.issue(hosts: ["a.example"])
        #expect(throws: SecurityError.self) {
            try TLSContext.server(certificateChainPEM: one.certificatePEM, privateKeyPEM: two.keyPEM, applicationProtocols: [])
        }
    }

    @Test("serves a chain whose intermediate the client does not know") func sendsChain() throws {
        let authority = try TLSPair.authority.get()
        let issued = try authority.issue(hosts: ["push.example"])
        // The root itself may follow the certificate, as many files have it.
        let context = try TLSContext.server(
            certificateChainPEM: issued.certificatePEM + authority.certificatePEM, privateKeyPEM: issued.keyPEM,
            applicationProtocols: [])
        #expect(try !TLSSession(server: context).handshake())
    }
}
