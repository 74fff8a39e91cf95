import APNsSimulator
import HTTP
import JSON
import TestSupport
import Testing

@Suite("A dashboard that watches a notification", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5)))
struct EventStreamTests {
    /// The end of a chunked body.
    private static let end = "0\r\n\r\n"

    /// Opens a stream over HTTP/1.1 and reads its begin: head and first totals.
    private func watch(_ gateway: Deployment, _ notification: String, key: String) async throws -> TestSocket {
        let socket = try TestSocket(port: gateway.port(), timeoutSeconds: 60)
        try socket.send(
            TestHTTPClient.http1Request(
                "GET", "/v1/notifications/\(notification)/events", headers: ["authorization": "Key \(key)"]))
        let begin = try await read(socket, to: "}\n\n\r\n")
        #expect(begin.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(begin)")
        #expect(begin.contains("\r\ncontent-type: text/event-stream\r\n"))
        #expect(begin.contains("retry: 2000\n\nevent: totals\nid: "))
        return socket
    }

    private func read(_ socket: TestSocket, to end: String) async throws -> String {
        try await onThread {
            var bytes: [UInt8] = []
            while !bytes.suffix(end.utf8.count).elementsEqual(end.utf8), let more = try socket.receive(), !more.isEmpty {
                bytes += more
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// The data of the last event of that name.
    private func last(_ event: String, in text: String) throws -> JSONValue {
        let begin = try #require(text.ranges(of: "event: \(event)\n").last, "\(text)")
        let line = text[begin.upperBound...].split(separator: "\n").first { $0.hasPrefix("data: ") }
        return try JSONDocument(parsing: Array(try #require(line).dropFirst(6).utf8)).root
    }

    private func looks(_ gateway: Deployment) async throws -> Int {
        let metrics = try await gateway.send("GET", "/metrics", key: nil).text
        let line = metrics.split(separator: "\n").first { $0.hasPrefix("openpush_event_looks_total ") }
        return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    }

    /// A start to devices whose answers APNs holds.
    private func heldStart(_ gateway: Deployment, devices: Int) async throws -> String {
        try await gateway.registerDevices(1...devices)
        try await gateway.holdAnswers(after: 0)
        return try #require(try await gateway.start("match-1")["id"])
    }

    @Test("sees totals until the fan-out has finished; many of them, over both versions, cost one query a tick")
    func watches() async throws {
        try await Deployment.run(settings: ["OPENPUSH_EVENT_LOOPS": "2"]) { gateway in
            let start = try await heldStart(gateway, devices: 5)
            let begun = ContinuousClock.now
            var sockets: [TestSocket] = []
            for number in 1...6 {
                sockets.append(try await watch(gateway, start, key: number % 2 == 0 ? gateway.app.readKey : gateway.app.restKey))
            }
            var hasCurl: Bool { TestHTTPClient.isInstalled("curl") }
            let path = "/v1/notifications/\(start)/events"
            async let overHTTP2 = hasCurl ? gateway.send("GET", path, key: gateway.app.readKey, version: .http2) : nil
            while try await looks(gateway) < 3 {}
            // A tick is a second: were it a query a stream, there would be seven times as many.
            let count = try await looks(gateway)
            #expect(count <= Int(begun.duration(to: .now) / .seconds(1)) + 1)
            try await gateway.releaseAnswers()
            for socket in sockets {
                let text = try await read(socket, to: Self.end)
                #expect(text.hasSuffix(Self.end), "\(text)")
                let totals = try last("finished", in: text)
                #expect(totals["state"]?.string == "finished" && totals["accepted"]?.integer == 5, "\(text)")
            }
            if let answer = try await overHTTP2 {
                #expect(try last("finished", in: answer.text)["accepted"]?.integer == 5)
            }
            let whole = try await gateway.send("GET", path, key: gateway.app.readKey)
            let id = try #require(whole.text.split(separator: "\n").last { $0.hasPrefix("id: ") }).dropFirst(4)
            func comeBack() async throws -> (status: Int, text: String) {
                let answer = try await gateway.client().send(
                    "GET", path, headers: ["authorization": "Key \(gateway.app.readKey)", "last-event-id": String(id)])
                return (answer.status, answer.text)
            }
            #expect(try await comeBack().status == 204)
            // A tap is news, also after the end.
            #expect(try await gateway.tap(1, activity: "match-1", notification: start).status == 200)
            let tapped = try await comeBack()
            #expect(tapped.status == 200)
            #expect(try last("finished", in: tapped.text)["clicks"]?.integer == 1)
        }
    }

    @Test("is cut when its key is revoked, and others are not")
    func revokes() async throws {
        try await Deployment.run { gateway in
            let created = try await gateway.control("key", "create", "--app", gateway.app.id, "--kind", "read")
            let start = try await heldStart(gateway, devices: 1)
            let revoked = try await watch(gateway, start, key: try #require(created.answer?["key"]?.string))
            let other = try await watch(gateway, start, key: gateway.app.readKey)
            let identifier = try #require(created.answer?["key_id"]?.string)
            #expect(try await gateway.control("key", "revoke", "--key-id", identifier).status == 0)
            #expect(try await read(revoked, to: Self.end).hasSuffix(Self.end))
            try await gateway.releaseAnswers()
            #expect(try last("finished", in: try await read(other, to: Self.end))["accepted"]?.integer == 1)
        }
    }

    @Test("sees its stream end when the daemon stops, and goes on at the next one")
    func stops() async throws {
        try await Deployment.run { gateway in
            let start = try await heldStart(gateway, devices: 1)
            let socket = try await watch(gateway, start, key: gateway.app.readKey)
            async let status = gateway.daemon.terminate()
            #expect(try await read(socket, to: Self.end).hasSuffix(Self.end))
            #expect(try await onThread { socket.receiveToEnd() }.isClosed)
            try await gateway.releaseAnswers()
            #expect(await status == 0)
            try await gateway.startDaemon()
            let answer = try await gateway.send("GET", "/v1/notifications/\(start)/events", key: gateway.app.readKey)
            #expect(try last("finished", in: answer.text)["accepted"]?.integer == 1)
        }
    }
}
