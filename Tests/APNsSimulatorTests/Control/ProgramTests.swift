import Foundation
import Security
import Testing

@testable import APNsSimulator

@Suite("Program", .timeLimit(.minutes(1))) struct ProgramTests {
    /// The folder of the programs that were built with the tests.
    static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

    /// Runs something and answers its status and standard output.
    static func run(_ path: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    static var program: String { products.appendingPathComponent("apns-simulator").path }

    @Test(
        "refuses wrong flags with status 64",
        arguments: [
            ["--lisen", "127.0.0.1:0"], ["--listen"], ["--listen", "here"], ["--public-key", "T:K"], ["--latency", "9-1"], ["x"],
        ])
    func refusesFlags(arguments: [String]) throws { #expect(try Self.run(Self.program, arguments).status == 64) }

    @Test("explains itself")
    func explains() throws {
        let help = try Self.run(Self.program, ["--help"])
        #expect(help.status == 0)
        #expect(help.output.hasPrefix("Usage: apns-simulator"))
    }

    @Test("serves a push and a new channel of curl and control requests, says where, keeps its authority, and ends when told")
    func serves() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("apns-simulator-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let key = ES256PrivateKey.generate()
        let keyPath = folder.appendingPathComponent("key.pem").path
        let authorityPath = folder.appendingPathComponent("ca.pem").path
        try Data(key.publicKey.pem).write(to: URL(fileURLWithPath: keyPath))

        var authorities: [Data] = []
        for _ in 0..<2 {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: Self.program)
            process.arguments = ["--ca-file", authorityPath, "--public-key", "TEAM:KEY:\(keyPath):production:com.example.app"]
            let pipe = Pipe()
            process.standardOutput = pipe
            try process.run()
            defer { if process.isRunning { process.interrupt() } }
            let line = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
            let words = line.split(whereSeparator: \.isWhitespace).map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
            let addresses = Dictionary(uniqueKeysWithValues: words.map { ($0[0], $0[1]) })
            authorities.append(try Data(contentsOf: URL(fileURLWithPath: authorityPath)))

            let authorization = try TestSimulator.authorization(
                key: key, keyID: "KEY", team: "TEAM", issuedAt: Int64(Date().timeIntervalSince1970))
            let answer = try Self.run(
                "/usr/bin/curl",
                [
                    "--silent", "--http2", "--cacert", authorityPath, "--write-out", "%{http_code} %{http_version}", "--header",
                    "authorization: \(authorization)", "--header", "apns-topic: com.example.app.push-type.liveactivity",
                    "--header", "apns-push-type: liveactivity", "--data", "{}",
                    "https://\(addresses["production"] ?? "")/3/device/\(TestPush.token(1))",
                ])
            #expect(answer.output == "200 2")
            let creation = try Self.run(
                "/usr/bin/curl",
                [
                    "--silent", "--include", "--http2", "--cacert", authorityPath, "--header", "authorization: \(authorization)",
                    "--data", #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#,
                    "https://\(addresses["channels"] ?? "")/1/apps/com.example.app/channels",
                ])
            #expect(creation.output.hasPrefix("HTTP/2 201"))
            #expect(creation.output.contains("\napns-channel-id: "))
            #expect(creation.output.contains("\napns-request-id: "))
            let stats = try Self.run("/usr/bin/curl", ["--silent", "http://\(addresses["control"] ?? "")/stats"])
            #expect(stats.output.contains(#""answers":{"200":1,"201":1}"#))
            process.terminate()
            process.waitUntilExit()
            #expect(process.terminationReason == .exit)
            #expect(process.terminationStatus == 0)
        }
        #expect(authorities[0] == authorities[1])
    }
}
