import Security
import Testing

@testable import Configuration

@Suite("Certificate variables") struct CertificateVariableTests {
    private let authority: CertificateAuthority
    private let issued: IssuedCertificate

    init() throws {
        authority = try CertificateAuthority.generate(commonName: "Test")
        issued = try authority.issue(hosts: ["localhost"])
    }

    private var certificate: String { String(decoding: issued.certificatePEM, as: UTF8.self) }
    private var key: String { String(decoding: issued.keyPEM, as: UTF8.self) }

    @Test("hold a PEM text or the path of one") func takeBoth() {
        #expect(Environment.mistakes(["OPENPUSH_TLS_CERTIFICATE": certificate, "OPENPUSH_TLS_KEY": key]).isEmpty)
        #expect(
            Environment.mistakes(
                ["OPENPUSH_TLS_CERTIFICATE": "/cert", "OPENPUSH_TLS_KEY": "/key"],
                files: ["/cert": issued.certificatePEM, "/key": issued.keyPEM]
            ).isEmpty)
    }

    @Test("come both or not at all") func comeTogether() {
        #expect(
            Environment.mistakes(["OPENPUSH_TLS_CERTIFICATE": certificate])
                == ["OPENPUSH_TLS_CERTIFICATE: needs OPENPUSH_TLS_KEY as well"])
        #expect(
            Environment.mistakes(["OPENPUSH_TLS_KEY_FILE": "/key"], files: ["/key": issued.keyPEM])
                == ["OPENPUSH_TLS_KEY_FILE: needs OPENPUSH_TLS_CERTIFICATE as well"])
    }

    @Test("must belong together") func mustMatch() throws {
        let other = String(decoding: try authority.issue(hosts: ["localhost"]).keyPEM, as: UTF8.self)
        #expect(
            Environment.mistakes(["OPENPUSH_TLS_CERTIFICATE": certificate, "OPENPUSH_TLS_KEY": other])
                == [
                    "OPENPUSH_TLS_CERTIFICATE: cannot be used: private key: key values mismatch",
                    "OPENPUSH_TLS_KEY: cannot be used: private key: key values mismatch",
                ])
    }

    @Test("must hold a certificate where one belongs") func mustHoldCertificate() {
        #expect(
            Environment.mistakes(["OPENPUSH_APNS_CA_FILE": "/ca"], files: ["/ca": issued.keyPEM])
                == ["OPENPUSH_APNS_CA_FILE: cannot be used: root certificates: no start line"])
        #expect(
            Environment.mistakes(["OPENPUSH_APNS_CA_FILE": "/missing"])
                == ["OPENPUSH_APNS_CA_FILE: its file cannot be read: file: No such file or directory"])
    }
}
