import APNsSimulator
import Foundation
import HTTP
import Security
import TestSupport
import Testing

@Suite("A daemon that gets SIGHUP", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct ReloadTests {
    private static let serverUsed = "Read the server's certificate again"
    private static let serverRefused = "The server's certificate was not replaced"
    private static let rootsUsed = "Read the roots for APNs again"
    private static let rootsRefused = "The roots for APNs were not replaced"

    /// Files that are there while `body` runs.
    private func withFiles(_ contents: [UInt8]..., body: ([URL]) async throws -> Void) async throws {
        let files = try contents.map { try TestHTTPClient.temporaryFile($0) }
        defer { for file in files { try? FileManager.default.removeItem(at: file) } }
        try await body(files)
    }

    /// Whether a client that trusts this authority alone gets an answer.
    private func isServed(_ gateway: Deployment, trusting authority: CertificateAuthority) async throws -> Bool {
        let client = TestHTTPClient(port: try gateway.port(), tls: authority.certificatePEM)
        return (try? await client.send("GET", "/livez").status) == 200
    }

    @Test("shows new clients the new certificate; one that does not fit its key changes nothing, and nobody is cut off")
    func replacesTheServerCertificate() async throws {
        let (old, new) = (
            try CertificateAuthority.generate(commonName: "Old"), try CertificateAuthority.generate(commonName: "New")
        )
        let (first, second) = (try old.issue(hosts: ["127.0.0.1"]), try new.issue(hosts: ["127.0.0.1"]))
        try await withFiles(first.certificatePEM, first.keyPEM) { files in
            let settings = ["OPENPUSH_TLS_CERTIFICATE": files[0].path, "OPENPUSH_TLS_KEY_FILE": files[1].path]
            try await Deployment.run(settings: settings) { gateway in
                let open = try TestSocket(port: gateway.port(), tls: ("127.0.0.1", old.certificatePEM))
                #expect(try await isServed(gateway, trusting: old))

                try Data(second.certificatePEM).write(to: files[0])
                gateway.daemon.reload()
                try await gateway.waitForLog(Self.serverRefused)
                // The other part was read all the same.
                try await gateway.waitForLog(Self.rootsUsed)
                #expect(try await isServed(gateway, trusting: old))

                try Data(second.keyPEM).write(to: files[1])
                gateway.daemon.reload()
                try await gateway.waitForLog(Self.serverUsed)
                #expect(try await isServed(gateway, trusting: new))
                #expect(try await !isServed(gateway, trusting: old))
                var reader = TestHTTPResponseReader()
                try open.send(TestHTTPClient.http1Request("GET", "/livez"))
                #expect(try reader.next(from: open).status == 200)

                try FileManager.default.removeItem(at: files[1])
                gateway.daemon.reload()
                try await gateway.waitForLog(Self.serverRefused, count: 2)
                #expect(try await isServed(gateway, trusting: new))
                #expect(await gateway.daemon.terminate() == 0)
            }
        }
    }

    @Test("trusts new roots: it was not ready while it rejected APNs, pushes that waited go out, and no token was lost")
    func replacesTheRoots() async throws {
        let stranger = try CertificateAuthority.generate(commonName: "Stranger")
        try await withFiles(stranger.certificatePEM) { files in
            try await Deployment.run(settings: ["OPENPUSH_APNS_CA_FILE": files[0].path]) { gateway in
                try await gateway.registerDevices(1...20)
                let start = try #require(try await gateway.start("match-1")["id"])
                try await gateway.waitForLog("connection to APNs ended", count: 2)
                let red = try await gateway.send("GET", "/readyz", key: nil)
                #expect(red.status == 503, "\(red.text)")
                #expect(red.text.contains(#"{"database":"ready","apns_certificate":"not ready"}"#), "\(red.text)")
                try Data("no certificate".utf8).write(to: files[0])
                gateway.daemon.reload()
                try await gateway.waitForLog(Self.rootsRefused)
                let waiting = try await gateway.summary(of: start)
                #expect(waiting["state"] != "finished" && waiting.ended == 0, "\(waiting.text)")
                #expect(gateway.pushes().isEmpty)

                try Data(gateway.simulator.certificateAuthority.certificatePEM).write(to: files[0])
                gateway.daemon.reload()
                try await gateway.waitForLog(Self.rootsUsed)
                let totals = try await gateway.waitUntilFinished(start)
                #expect(totals.number("accepted") == 20, "\(totals.text)")
                #expect(try await gateway.send("GET", "/readyz", key: nil).status == 200)
                #expect(gateway.pushes().count == 20 && gateway.pushes().values.allSatisfy { $0 == 1 })
                let next = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-2")["id"]))
                #expect(next.number("targeted") == 20 && next.number("accepted") == 20, "\(next.text)")
            }
        }
    }

    @Test("in the middle of a fan-out goes on with it: nothing is lost or doubled")
    func goesOn() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...100)
            try await gateway.holdAnswers(after: 20)
            let start = try #require(try await gateway.start("match-1")["id"])
            #expect(await gateway.simulator.waitForRequests(50).count == 50)
            gateway.daemon.reload()
            try await gateway.waitForLog(Self.rootsUsed)
            try await gateway.releaseAnswers()
            #expect(try await gateway.waitUntilFinished(start).number("accepted") == 100)
            #expect(gateway.pushes().count == 100 && gateway.pushes().values.allSatisfy { $0 == 1 })
            #expect(await gateway.daemon.terminate() == 0)
        }
    }
}
