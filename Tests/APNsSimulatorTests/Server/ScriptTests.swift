import HTTP
import Networking
import Testing

@testable import APNsSimulator

@Suite("Scripts", .timeLimit(.minutes(1))) struct ScriptTests {
    typealias Frame = FrameClient.Frame

    /// An effect with some parts set.
    static func effect(_ change: (inout Rule.Effect) -> Void) -> Rule.Effect {
        var effect = Rule.Effect()
        change(&effect)
        return effect
    }

    static func condition(_ change: (inout Rule.Condition) -> Void) -> Rule.Condition {
        var condition = Rule.Condition()
        change(&condition)
        return condition
    }

    @Test("answer what they say, with header fields, for one token and so many times")
    func answers() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connectAuthenticated()
        let token = try #require(DeviceToken.parse(TestPush.token(2)))
        test.simulator.script(
            Self.effect { $0.answer = PushAnswer(status: 503, reason: "Shutdown", headers: ["retry-after": "3"]) },
            when: Self.condition {
                $0.token = token
                $0.count = 2
            })
        var statuses: [Int] = []
        for number in [1, 2, 2, 2] { statuses.append(try await client.answer(to: test.push(token: number)).status) }
        #expect(statuses == [200, 503, 503, 200])
        await test.simulator.stop()
    }

    @Test("count: after so many, every n-th")
    func counts() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connectAuthenticated()
        test.simulator.script(
            .answer(.tooManyRequests),
            when: Self.condition {
                $0.after = 1
                $0.every = 3
            })
        var statuses: [Int] = []
        for _ in 0..<8 { statuses.append(try await client.answer(to: test.push()).status) }
        #expect(statuses == [200, 200, 200, 429, 200, 200, 429, 200])
        await test.simulator.stop()
    }

    @Test("leave refusals to Apple's rules")
    func leaveRefusals() async throws {
        let test = try await TestSimulator.start()
        test.simulator.script(.answer(.serviceUnavailable))
        let client = try await test.connect()
        #expect(try await client.answer(to: test.push().with("apns-priority", "2")).body == #"{"reason":"BadPriority"}"#)
        #expect(try await client.answer(to: test.push()).status == 503)
        await test.simulator.stop()
    }

    @Test("delay some answers and not others")
    func delays() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connectAuthenticated()
        test.simulator.script(
            Self.effect { $0.delayMilliseconds = 200...200 },
            when: Self.condition { $0.token = DeviceToken.parse(TestPush.token(1)) })
        let begin = ContinuousClock.now
        let streams = try await client.send(test.pushes(2))
        _ = try await client.answer(streams[1])
        _ = try await client.answer(streams[0])
        #expect(await client.frames.filter { $0.type == Frame.headers }.map(\.streamID).suffix(2) == [streams[1], streams[0]])
        #expect(ContinuousClock.now - begin >= .milliseconds(199))
        await test.simulator.stop()
    }

    @Test("hold answers until they are released, oldest first")
    func holds() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connectAuthenticated()
        test.simulator.script(Self.effect { $0.isHeld = true })
        let streams = try await client.send(test.pushes(300))
        let held = await test.simulator.waitForRequests(301)
        #expect(held.dropFirst().allSatisfy { $0.outcome == .pending })
        #expect(test.simulator.statistics.tally.mostConcurrentStreams == 300)
        #expect(await test.simulator.release(upTo: 1) == 1)
        #expect(try await client.answer(streams[0]).status == 200)
        #expect(await test.simulator.release() == 299)
        for stream in streams { #expect(try await client.answer(stream).status == 200) }
        await test.simulator.stop()
    }

    @Test("swallow a push, and see that the sender gave up")
    func swallows() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connectAuthenticated()
        test.simulator.script(Self.effect { $0.isSilent = true }, when: Self.condition { $0.count = 1 })
        let streams = try await client.send(test.pushes(2))
        #expect(try await client.answer(streams[1]).status == 200)
        #expect(test.simulator.requests()[1].outcome == .unanswered)
        try await client.reset(streams[0], code: 8)
        #expect(try await client.answer(to: test.push()).status == 200)
        #expect(test.simulator.requests()[1].outcome == .cancelled(code: 8))
        #expect(test.simulator.statistics.tally.unansweredCount == 0)
        await test.simulator.stop()
    }

    @Test("reset a stream")
    func resets() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connectAuthenticated()
        test.simulator.script(Self.effect { $0.resetCode = 7 })
        let stream = try await client.send([test.push()])[0]
        let frame = try await client.first { $0.type == Frame.reset }
        #expect(frame.streamID == stream)
        #expect(frame.number(at: 0) == 7)
        #expect(test.simulator.requests().last?.outcome == .reset(code: 7))
        await test.simulator.stop()
    }

    @Test(
        "send GOAWAY, answer what it covers, drop the rest and close",
        arguments: [
            (Rule.GoAway.Last.this, 3), (.before, 2), (.none, 0), (.all, 3), (.stream(3), 1),
        ])
    func goesAway(last: Rule.GoAway.Last, answered: Int) async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connectAuthenticated()
        test.simulator.script(Self.effect { $0.isHeld = true }, when: Self.condition { $0.count = 3 })
        test.simulator.script(
            Self.effect { $0.goAway = Rule.GoAway(last: last, code: 0, debugData: Array(#"{"reason":"Shutdown"}"#.utf8)) },
            when: Self.condition {
                $0.after = 2
                $0.count = 1
            })
        let streams = try await client.send(test.pushes(6))
        let frame = try await client.first { $0.type == Frame.goAway }
        #expect(frame.number(at: 4) == 0)
        #expect(String(decoding: frame.payload.dropFirst(8), as: UTF8.self) == #"{"reason":"Shutdown"}"#)
        // The authenticating push had stream 1.
        #expect(frame.number(at: 0) == (answered == 0 ? 0 : UInt32(streams[answered - 1])))
        await test.simulator.release()
        await client.waitUntilClosed()
        for (index, stream) in streams.enumerated() {
            let hasAnswer = await client.frames.contains { $0.streamID == stream && $0.type == Frame.headers }
            #expect(hasAnswer == (index < answered))
        }
        let outcomes = test.simulator.requests().dropFirst().map(\.outcome)
        #expect(outcomes.filter { $0 == .unanswered }.count == 3 - answered)
        #expect(outcomes.filter { $0 == .answered(status: 200, reason: nil) }.count == answered)
        await test.simulator.stop()
    }

    @Test("close the connection before and after an answer")
    func closes() async throws {
        let test = try await TestSimulator.start()
        test.simulator.script(Self.effect { $0.close = .before }, when: Self.condition { $0.count = 1 })
        let first = try await test.connect()
        // The connection may end while the push is still being written.
        _ = try? await first.send([test.push()])
        await first.waitUntilClosed()
        #expect(await first.frames.allSatisfy { $0.type != Frame.headers })
        test.simulator.removeRules()
        test.simulator.script(Self.effect { $0.close = .after })
        let second = try await test.connect()
        #expect(try await second.answer(to: test.push()).status == 200)
        await second.waitUntilClosed()
        #expect(test.simulator.requests().first?.outcome == .unanswered)
        #expect(test.simulator.requests().last?.outcome == .answered(status: 200, reason: nil))
        await test.simulator.stop()
    }

    @Test("send SETTINGS in the middle")
    func changesSettings() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connectAuthenticated()
        test.simulator.script(Self.effect { $0.settings = [.maxConcurrentStreams(7), .initialWindowSize(1)] })
        try await client.send([test.push()])
        let frame = try await client.first { $0.settings[4] == 1 }
        #expect(frame.settings == [3: 7, 4: 1])
        try await test.simulator.changeSettings { $0.concurrentStreams = 500 }
        _ = try await client.first { $0.settings[3] == 500 }
        await test.simulator.stop()
    }

    @Test("stop reading for a while")
    func stalls() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connectAuthenticated()
        test.simulator.script(Self.effect { $0.stallMilliseconds = 200 }, when: Self.condition { $0.count = 1 })
        let begin = ContinuousClock.now
        #expect(try await client.answer(to: test.push()).status == 200)
        #expect(try await client.answer(to: test.push()).status == 200)
        #expect(ContinuousClock.now - begin >= .milliseconds(190))
        await test.simulator.stop()
    }

    @Test(
        "refuse connections, ignore them, and show a certificate nobody knows",
        arguments: [
            (false, 1), (true, 0),
        ])
    func spoilsConnections(isForeign: Bool, accepted: Int) async throws {
        let test = try await TestSimulator.start()
        var rule = Rule()
        rule.subject = .connection
        rule.effect.refusesConnection = !isForeign
        rule.effect.showsForeignCertificate = isForeign
        rule.condition.count = 1
        test.simulator.add([rule])
        let spoilt = try await test.connect()
        await spoilt.waitUntilClosed()
        #expect(await spoilt.frames.isEmpty)
        #expect(try await test.connect().answer(to: test.push()).status == 200)
        #expect(test.simulator.statistics.tally.failedConnectionCount == 1)
        await test.simulator.stop()
    }

    @Test("keep a connection in the dark until the sender leaves")
    func ignoresHandshakes() async throws {
        let test = try await TestSimulator.start()
        var rule = Rule()
        rule.subject = .connection
        rule.effect.ignoresHandshake = true
        rule.condition.count = 1
        test.simulator.add([rule])
        let ignored = try await test.connect()
        #expect(try await test.connect().answer(to: test.push()).status == 200)
        #expect(await ignored.frames.isEmpty)
        #expect(await !ignored.isClosed)
        await ignored.close()
        await test.simulator.stop()
    }

    @Test("close the port, and open it again at the same address")
    func closesPort() async throws {
        let test = try await TestSimulator.start()
        let before = try await test.connectAuthenticated()
        try await test.simulator.changeSettings { $0.listens = false }
        await #expect(throws: (any Error).self) {
            let refused = try await test.connect()
            _ = try await refused.answer(to: test.push())
        }
        #expect(try await before.answer(to: test.push()).status == 200)
        try await test.simulator.changeSettings { $0.listens = true }
        #expect(try await test.connect().answer(to: test.push()).status == 200)
        await test.simulator.stop()
    }

    @Test("reach every open connection at once")
    func appliesNow() async throws {
        let test = try await TestSimulator.start()
        let clients = [try await test.connectAuthenticated(), try await test.connect(.sandbox)]
        #expect(try await clients[1].answer(to: test.push(token: 5)).status == 200)
        await test.simulator.apply(Self.effect { $0.goAway = Rule.GoAway(last: .all) })
        for client in clients { await client.waitUntilClosed() }
        #expect(test.simulator.statistics.tally.goAwayCount == 2)
        await test.simulator.stop()
    }
}
