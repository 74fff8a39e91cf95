package import Foundation
import HTTP

extension TestHTTPClient {
    /// Whether the tool is installed where Debian puts it.
    package static func isInstalled(_ tool: String) -> Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/\(tool)") }

    /// Runs a program of /usr/bin to its end. Blocks the calling thread.
    package static func run(_ tool: String, _ arguments: [String]) throws -> (status: Int32, output: [UInt8], errors: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/\(tool)")
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        let output = Pipe()
        let errors = try temporaryFile([])
        defer { try? FileManager.default.removeItem(at: errors) }
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        // Foundation leaks the buffer of an empty file it has read.
        let hasFailed = process.terminationStatus != 0
        let text = hasFailed ? (try? String(contentsOf: errors, encoding: .utf8)) ?? "" : ""
        return (process.terminationStatus, Array(bytes), text)
    }

    package static func temporaryFile(_ bytes: [UInt8]) throws -> URL {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("openpushd-test-\(UUID().uuidString)")
        try Data(bytes).write(to: file)
        return file
    }

    func sendWithCurl(_ method: String, _ path: String, headers: HTTPHeaders, body: [UInt8]) throws -> Response {
        var arguments = ["-sS", "-i", "--max-time", String(timeoutSeconds), "--path-as-is", "--request-target", path]
        arguments += method == "HEAD" ? ["-I"] : ["-X", method]
        var files: [URL] = []
        defer { for file in files { try? FileManager.default.removeItem(at: file) } }
        if let tls {
            let authority = try Self.temporaryFile(tls)
            files.append(authority)
            arguments += ["--http2", "--cacert", authority.path]
        } else {
            arguments.append("--http2-prior-knowledge")
        }
        // Without a value curl would add its own.
        for field in headers { arguments += ["-H", "\(field.name): \(field.value)"] }
        if !body.isEmpty {
            let file = try Self.temporaryFile(body)
            files.append(file)
            if headers["content-type"] == nil { arguments += ["-H", "content-type:"] }
            arguments += ["--data-binary", "@\(file.path)"]
        }
        arguments.append("\(tls == nil ? "http" : "https")://\(host):\(port)/")
        let (status, output, errors) = try Self.run("curl", arguments)
        guard status == 0 else { throw Failure("curl exited with \(status): \(errors)") }
        return try Self.parse(output)
    }

    private static func parse(_ output: [UInt8]) throws -> Response {
        var rest = output[...]
        while true {
            let end = rest.indices.first { rest[$0...].starts(with: "\r\n\r\n".utf8) }
            guard let end else { throw Failure("curl printed no header section") }
            let lines = String(decoding: rest[..<end], as: UTF8.self).split(separator: "\r\n")
            rest = rest[(end + 4)...]
            let statusLine = lines.first?.split(separator: " ") ?? []
            guard statusLine.count >= 2, statusLine[0] == "HTTP/2", let status = Int(statusLine[1]) else {
                throw Failure("not a HTTP/2 response: \(lines.first ?? "")")
            }
            if (100...199).contains(status) { continue }
            var headers: HTTPHeaders = [:]
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2 else { throw Failure("bad header line") }
                headers.append(String(parts[0]), String(parts[1].drop { $0 == " " }))
            }
            return Response(status: status, headers: headers, body: Array(rest))
        }
    }
}
