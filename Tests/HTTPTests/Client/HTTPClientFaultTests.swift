import Networking
import TestSupport
import Testing

@testable import HTTP

@Suite("HTTP client and faults", .timeLimit(.minutes(2))) struct HTTPClientFaultTests {
    private static let ok = ScriptedAnswer.respond(HTTPResponse(status: 200))

    @Test("says of a refused stream that it was not processed, and sends such a request again by itself")
    func refusedStream() async throws {
        let seen = Counter()
        try await withClient(
            script: { _, _ in seen.next() < 3 ? .reset(HTTP2ErrorCode.refusedStream) : Self.ok }
        ) { rig, _ in
            #expect(await rig.submit() == .notSent(.refused))
            #expect(await rig.send().response?.status == 200)
            #expect(seen.count == 4)
        }
    }

    @Test("says of a stream that ended with another error that it has no answer")
    func reset() async throws {
        let seen = Counter()
        try await withClient(
            script: { _, _ in
                seen.next()
                return .reset(HTTP2ErrorCode.internalError)
            }
        ) { rig, _ in
            #expect(await rig.send() == .unanswered(.reset(errorCode: HTTP2ErrorCode.internalError)))
            #expect(seen.count == 1)
        }
    }

    @Test("takes the answers that a GOAWAY promises, hands back what it excludes, and goes elsewhere")
    func goAway() async throws {
        try await withClient(
            script: { connection, request in
                if connection > 1 { return .respond(HTTPResponse(status: 202)) }
                // The first request stays open; the second says goodbye to itself and keeps the first.
                if request.target == "/1" { return .ignore }
                return .goAway(lastStreamID: 1, then: nil)
            }
        ) { rig, server in
            async let first = rig.submit("GET", "/1")
            while await rig.client.inFlightCount == 0 { await Task.yield() }
            #expect(await rig.submit("GET", "/2") == .notSent(.refused))
            #expect(await rig.send("GET", "/3").response?.status == 202)
            #expect(await server.connectionCount == 2)
            await rig.client.drain(timeout: .zero)
            #expect(await first == .unanswered(.draining))
        }
    }

    @Test("answers a request whose GOAWAY comes with its answer")
    func goAwayWithAnswer() async throws {
        try await withClient(
            script: { connection, _ in
                connection == 1
                    ? .goAway(lastStreamID: nil, then: HTTPResponse(status: 200)) : .respond(HTTPResponse(status: 202))
            }
        ) { rig, _ in
            #expect(await rig.send().response?.status == 200)
            #expect(await rig.send().response?.status == 202)
        }
    }

    @Test("says of a request on a connection that was cut that it has no answer, and connects again")
    func hangUp() async throws {
        try await withClient(script: { connection, _ in connection == 1 ? .hangUp : Self.ok }) { rig, _ in
            guard case .unanswered(.connectionLost) = await rig.send() else { throw TestHTTPClient.Failure("not unanswered") }
            #expect(await rig.send().response?.status == 200)
            let event = await rig.events.first { if case .connectionFailed = $0 { true } else { false } }
            guard case .connectionFailed(_, _, let unansweredCount) = event else { return }
            #expect(unansweredCount == 1)
        }
    }

    @Test("gives up a request in its time, and leaves a connection that said nothing since")
    func timeout() async throws {
        try await withClient(script: { _, request in request.target == "/silent" ? .ignore : Self.ok }) { rig, server in
            #expect(await rig.send().response?.status == 200)
            var result: HTTPClientResult
            // On a busy machine its time may be over before it leaves.
            repeat { result = await rig.send("GET", "/silent", timeout: .milliseconds(5)) } while result == .notSent(.timeout)
            #expect(result == .unanswered(.timeout))
            #expect(await rig.send().response?.status == 200)
            #expect(await server.connectionCount == 2)
        }
    }

    @Test("puts no request on the wire whose time is over, though a stream is free")
    func overdue() async throws {
        let seen = Counter()
        try await withClient(
            script: { _, _ in
                seen.next()
                return Self.ok
            }
        ) { rig, _ in
            #expect(await rig.send().response?.status == 200)
            #expect(await rig.send(timeout: .zero) == .notSent(.timeout))
            let asked = Counter()
            let late = HTTPClientRequest(
                method: "GET", path: "/late",
                mayLeave: {
                    asked.next()
                    return true
                })
            let result = await withCheckedContinuation { continuation in
                Task { await rig.client.submitLate(late) { continuation.resume(returning: $0) } }
            }
            #expect(result == .notSent(.timeout))
            #expect(asked.count == 0 && seen.count == 1)
        }
    }

    @Test("makes a successor that pauses as it does, and says why")
    func successor() async throws {
        let listener = try Listener.bind(#require(SocketAddress(ipv4: "127.0.0.1", port: 0)))
        listener.close()
        let rig = try ClientRig(port: listener.address.port, authority: nil, host: "127.0.0.1") {
            $0.firstBackOff = .seconds(3600)
            $0.longestBackOff = .seconds(3600)
        }
        async let waiting = rig.send()
        await rig.events.first { if case .connectionFailed = $0 { true } else { false } }
        let next = await rig.client.successor()
        let result = await next.send(HTTPClientRequest(method: "GET", path: "/"), timeout: .milliseconds(50))
        guard case .notSent(.noConnection(let reason)) = result else { throw TestHTTPClient.Failure("\(result)") }
        #expect(reason.contains("connect"))
        #expect(rig.events.all.count == 1)
        await next.drain(timeout: .zero)
        try await rig.stop()
        #expect(await waiting == .notSent(.draining))
    }

    @Test("gives up a connection whose PING is not answered, though its requests have time left")
    func ping() async throws {
        try await withClient { (configuration) in
            configuration.pingInterval = .milliseconds(20)
            configuration.pingTimeout = .milliseconds(20)
        } script: { connection, _ in
            connection == 1 ? .freeze : Self.ok
        } _: { rig, _ in
            #expect(await rig.send() == .unanswered(.connectionLost("PING was not answered")))
        }
    }

    @Test("gives up a connection whose SETTINGS do not come, and says so")
    func silence() async throws {
        // The system takes the connection; nobody ever reads from it.
        let listener = try Listener.bind(#require(SocketAddress(ipv4: "127.0.0.1", port: 0)))
        let rig = try ClientRig(port: listener.address.port, authority: nil, host: "127.0.0.1") {
            $0.connectTimeout = .milliseconds(20)
        }
        try await expectNoConnection(rig, because: "SETTINGS")
        listener.close()
    }

    @Test("says why no connection could be made")
    func refusedConnection() async throws {
        let listener = try Listener.bind(#require(SocketAddress(ipv4: "127.0.0.1", port: 0)))
        listener.close()
        try await expectNoConnection(ClientRig(port: listener.address.port, authority: nil), because: "connect")
    }

    /// A request that waits makes the client try; one that comes later hears how that went.
    private func expectNoConnection(_ rig: ClientRig, because word: String) async throws {
        async let waiting = rig.send()
        await rig.events.first { if case .connectionFailed = $0 { true } else { false } }
        let result = await rig.send(timeout: .milliseconds(1))
        guard case .notSent(.noConnection(let reason)) = result else { throw TestHTTPClient.Failure("\(result)") }
        #expect(reason.contains(word))
        try await rig.stop()
        #expect(await waiting == .notSent(.draining))
    }

    @Test("waits longer after each failure, up to a limit, and no longer after a success")
    func pauses() {
        var configuration = HTTPClientConfiguration()
        configuration.firstBackOff = .seconds(1)
        configuration.longestBackOff = .seconds(4)
        var pause = ReconnectPause(configuration: configuration)
        let now = ContinuousClock.now
        #expect(pause.isOver(at: now))
        for seconds in [1, 2, 4, 4] {
            pause.failed(at: now, addressCount: 1, wasQuick: true, jitter: 0.5)
            #expect(!pause.isOver(at: now + .seconds(seconds) - .milliseconds(1)))
            #expect(pause.isOver(at: now + .seconds(seconds)))
        }
        pause.forget()
        #expect(pause.isOver(at: now))
    }

    @Test("tries the host's other addresses before it waits")
    func addresses() {
        var pause = ReconnectPause(configuration: HTTPClientConfiguration())
        let now = ContinuousClock.now
        pause.failed(at: now, addressCount: 2, wasQuick: true, jitter: 0.5)
        #expect(pause.isOver(at: now))
        pause.failed(at: now, addressCount: 2, wasQuick: true, jitter: 0.5)
        #expect(!pause.isOver(at: now))
    }
}

extension HTTPClient {
    /// Submits a request in a turn of the loop that takes longer than it has.
    func submitLate(_ late: HTTPClientRequest, completion: @escaping @Sendable (HTTPClientResult) -> Void) {
        let end = ContinuousClock.now + .milliseconds(5)
        submit(late, timeout: .milliseconds(5), completion: completion)
        while ContinuousClock.now < end {}
    }
}
