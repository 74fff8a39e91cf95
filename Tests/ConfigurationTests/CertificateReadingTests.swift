import Security
import Testing

@testable import Configuration

@Suite("Certificates that are read again") struct CertificateReadingTests {
    private let authority: CertificateAuthority
    private let issued: IssuedCertificate
    private let variables = [
        "OPENPUSH_TLS_CERTIFICATE": "/cert", "OPENPUSH_TLS_KEY_FILE": "/key", "OPENPUSH_APNS_CA_FILE": "/ca",
        "OPENPUSH_GOOGLE_CA_FILE": "/google",
    ]

    init() throws {
        authority = try CertificateAuthority.generate(commonName: "Test")
        issued = try authority.issue(hosts: ["localhost"])
    }

    private func read(_ files: [String: [UInt8]]) -> CertificateReading {
        Environment(variables: variables, files: files).certificates()
    }

    @Test("are what the files hold now") func current() throws {
        let files = [
            "/cert": issued.certificatePEM, "/key": issued.keyPEM, "/ca": authority.certificatePEM,
            "/google": authority.certificatePEM,
        ]
        let reading = read(files)
        // The line end at the end of a file does not count.
        #expect(try reading.serverCertificate.get()?.chainPEM == issued.certificatePEM.dropLast())
        #expect(try reading.apnsRootsPEM.get() == authority.certificatePEM.dropLast())
        #expect(try reading.googleRootsPEM.get() == authority.certificatePEM.dropLast())
    }

    @Test("stand for themselves: one that cannot be used does not spoil the other") func independent() throws {
        let withoutKey = read(["/cert": issued.certificatePEM, "/ca": authority.certificatePEM])
        #expect(try withoutKey.apnsRootsPEM.get() != nil)
        #expect(
            mistakes(withoutKey.serverCertificate)
                == ["OPENPUSH_TLS_KEY_FILE: its file cannot be read: file: No such file or directory"])
        let withoutRoots = read(["/cert": issued.certificatePEM, "/key": issued.keyPEM, "/ca": issued.keyPEM])
        #expect(try withoutRoots.serverCertificate.get() != nil)
        #expect(
            mistakes(withoutRoots.googleRootsPEM)
                == ["OPENPUSH_GOOGLE_CA_FILE: its file cannot be read: file: No such file or directory"])
        #expect(
            mistakes(withoutRoots.apnsRootsPEM)
                == ["OPENPUSH_APNS_CA_FILE: cannot be used: root certificates: no start line"])
    }

    @Test("may be none") func none() throws {
        let reading = Environment().certificates()
        #expect(try reading.serverCertificate.get() == nil)
        #expect(try reading.apnsRootsPEM.get() == nil)
        #expect(try reading.googleRootsPEM.get() == nil)
    }

    private func mistakes<Value>(_ result: Result<Value, ConfigurationError>) -> [String] {
        switch result {
        case .success: []
        case .failure(let error): error.mistakes.map(\.description)
        }
    }
}
