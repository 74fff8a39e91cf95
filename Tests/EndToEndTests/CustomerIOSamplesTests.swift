import Foundation
import JSON
import Security
import TestSupport
import Testing

/// The request examples of Customer.io's specification, as they stand there: only the address is the gateway's, and the key is put in.
@Suite(
    "The samples of Customer.io's specification", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(3)), .serialized)
struct CustomerIOSamplesTests {
    struct Sample: Decodable, CustomTestStringConvertible {
        let operation: String
        let language: String
        let source: String
        var testDescription: String { "\(operation) in \(language)" }

        /// The documented answer to what the sample sends: placeholders, and all four identifiers at once.
        var expected: String {
            switch operation {
            case "startLiveNotification": "identifiers: give exactly one of"
            default: "instance_id"
            }
        }

        /// The program that runs it, and the sample in its hands.
        func command(port: UInt16, key: String) -> (program: String, arguments: [String]) {
            let host = source.replacingOccurrences(of: "https://api.customer.io", with: "https://127.0.0.1:\(port)")
            switch language {
            case "Shell":
                let keyed = host.replacingOccurrences(of: "REPLACE_BEARER_TOKEN", with: key)
                return ("/bin/sh", ["-c", keyed.replacingOccurrences(of: "curl --request", with: "curl --silent --request")])
            case "Node":
                let keyed = source.replacingOccurrences(of: #""hostname": "api.customer.io""#, with: #""hostname": "127.0.0.1""#)
                    .replacingOccurrences(of: #""port": null"#, with: #""port": \#(port)"#)
                    .replacingOccurrences(of: #""headers": {"#, with: #""headers": {"authorization": "Bearer \#(key)", "#)
                return ("/usr/bin/env", ["node", "-e", keyed])
            default:
                let keyed = source.replacingOccurrences(of: #""api.customer.io""#, with: #""127.0.0.1", \#(port)"#)
                    .replacingOccurrences(of: "headers = { ", with: #"headers = { 'authorization': "Bearer \#(key)", "#)
                    .replacingOccurrences(
                        of: #"%7Binstance_id%7D")"#,
                        with: #"%7Binstance_id%7D", headers={'authorization': "Bearer \#(key)"})"#)
                return ("/usr/bin/env", ["python3", "-c", keyed])
            }
        }
    }

    private static let samples: [Sample] = {
        struct File: Decodable { let samples: [Sample] }
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Fixtures/customerio-samples.json")
        guard let data = try? Data(contentsOf: file), let known = try? JSONDecoder().decode(File.self, from: data) else {
            return []
        }
        return known.samples
    }()

    /// The languages that run here; every machine that builds has a shell and Python.
    private static func runs(_ language: String) -> Bool {
        language != "Node"
            || ["/usr/bin/node", "/usr/local/bin/node"].contains { FileManager.default.isExecutableFile(atPath: $0) }
    }

    @Test("run against the gateway in each language, and get the documented answer")
    func run() async throws {
        #expect(Self.samples.count == 12)
        let authority = try CertificateAuthority.generate(commonName: "Test authority")
        let issued = try authority.issue(hosts: ["127.0.0.1"])
        let roots = try TestHTTPClient.temporaryFile(authority.certificatePEM)
        defer { try? FileManager.default.removeItem(at: roots) }
        let settings = [
            "OPENPUSH_TLS_CERTIFICATE": String(decoding: issued.certificatePEM, as: UTF8.self),
            "OPENPUSH_TLS_KEY": String(decoding: issued.keyPEM, as: UTF8.self),
        ]
        try await Deployment.run(settings: settings) { gateway in
            #expect(try await gateway.control("app", "set", gateway.app.id, "--live-notifications", "on").status == 0)
            for sample in Self.samples where Self.runs(sample.language) {
                let (program, arguments) = sample.command(port: try gateway.port(), key: gateway.app.restKey)
                let answer = try await Self.output(of: program, arguments, roots: roots.path)
                #expect(answer.contains(sample.expected), "\(sample.testDescription): \(answer)")
            }
        }
    }

    /// What a program prints that trusts the authority; what it complains of, when it prints nothing.
    private static func output(of program: String, _ arguments: [String], roots: String) async throws -> String {
        try await onThread {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = arguments
            process.environment = [
                "PATH": "/usr/local/bin:/usr/bin:/bin", "CURL_CA_BUNDLE": roots, "SSL_CERT_FILE": roots,
                "NODE_EXTRA_CA_CERTS": roots,
            ]
            let (output, errors) = (Pipe(), Pipe())
            (process.standardInput, process.standardOutput, process.standardError) = (FileHandle.nullDevice, output, errors)
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            let complaint = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            return text.isEmpty ? complaint : text
        }
    }
}
