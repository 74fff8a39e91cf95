import Testing

@testable import Security

@Suite("Certificate authority") struct CertificateAuthorityTests {
    @Test("goes on after it was stored and taken up again") func takesUp() throws {
        let first = try CertificateAuthority.generate(commonName: "Simulator")
        let second = try CertificateAuthority(certificatePEM: first.certificatePEM, keyPEM: first.keyPEM)
        let issued = try second.issue(hosts: ["localhost"])
        let server = try TLSContext.server(
            certificateChainPEM: issued.certificatePEM, privateKeyPEM: issued.keyPEM, applicationProtocols: [])
        let client = try TLSContext.client(extraRootsPEM: first.certificatePEM, applicationProtocols: [])
        let (clientSession, serverSession) = (try TLSSession(client: client, host: "localhost"), try TLSSession(server: server))
        for _ in 0..<3 {
            _ = try clientSession.handshake()
            TLSPair.carry(from: clientSession, to: serverSession)
            _ = try serverSession.handshake()
            TLSPair.carry(from: serverSession, to: clientSession)
        }
        #expect(try clientSession.handshake())
    }

    @Test("refuses another's key") func refusesForeignKey() throws {
        let first = try CertificateAuthority.generate(commonName: "One")
        let second = try CertificateAuthority.generate(commonName: "Two")
        #expect(throws: SecurityError.self) {
            try CertificateAuthority(certificatePEM: first.certificatePEM, keyPEM: second.keyPEM)
        }
    }

    @Test(
        "refuses hosts that are none, among them such that would add other names",
        arguments: [[], [""], ["a b"], ["a,DNS:evil.example"], ["a\nb"], ["höst"]])
    func refusesHosts(hosts: [String]) throws {
        let authority = try TLSPair.authority.get()
        #expect(throws: SecurityError.self) { try authority.issue(hosts: hosts) }
    }
}
