import HTTP
import Testing

@testable import APNsSimulator

@Suite("Waiting", .timeLimit(.minutes(1))) struct WaitingTests {
    @Test("ends with the last request that was missing")
    func waits() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connectAuthenticated()
        let token = try #require(DeviceToken.parse(TestPush.token(3)))
        async let requests = test.simulator.waitForRequests(1, matching: RequestQuery(token: token), timeout: .seconds(60))
        for push in test.pushes(3) { _ = try await client.answer(to: push) }
        #expect(await requests.map(\.token) == [token])
        await test.simulator.stop()
    }

    @Test("ends when the time is up, with what there is")
    func givesUp() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connect()
        _ = try await client.answer(to: test.push())
        #expect(await test.simulator.waitForRequests(2, timeout: .milliseconds(20)).count == 1)
        await test.simulator.stop()
    }

    @Test("for settled requests ends with the answer")
    func waitsForAnswers() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connect()
        test.simulator.script(ScriptTests.effect { $0.isHeld = true })
        try await client.send([test.push()])
        _ = await test.simulator.waitForRequests(1)
        var query = RequestQuery()
        query.isSettled = true
        async let settled = test.simulator.waitForRequests(1, matching: query, timeout: .seconds(60))
        await test.simulator.release()
        #expect(await settled.map(\.outcome) == [.answered(status: 200, reason: nil)])
        await test.simulator.stop()
    }

    @Test("ends when the simulator stops")
    func endsWithSimulator() async throws {
        let test = try await TestSimulator.start()
        async let nothing = test.simulator.waitForRequests(1, timeout: .seconds(60))
        await test.simulator.stop()
        #expect(await nothing.isEmpty)
    }

    @Test("sees header fields in order, the raw body, and the errors of its shape")
    func recordsEverything() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connect()
        let push = test.push().with(body: #"{"aps":{"timestamp":1800000000,"event":"update","content-state":{"n":1.0}},"k":"é"}"#)
        _ = try await client.answer(to: push)
        _ = try await client.answer(to: push.with(body: #"{"aps":{"timestamp":1800000001,"event":"update"}}"#))
        let requests = test.simulator.requests()
        let recorded = try #require(requests.first?.request)
        #expect(recorded.body == push.body)
        #expect(recorded.headers.map(\.name) == push.headers.map(\.0))
        #expect(recorded.headers.map(\.value) == push.headers.map(\.1))
        #expect(requests.map(\.reading.shapeErrors) == [[], ["content-state is missing"]])
        #expect(requests.map(\.outcome) == [.answered(status: 200, reason: nil), .answered(status: 200, reason: nil)])
        await test.simulator.stop()
    }

    @Test("knows whether timestamps rise, and what came after an end")
    func followsTokens() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connect()
        let base = TestSimulator.seconds
        for (offset, event) in [(0, "update"), (2, "update"), (1, "update"), (2, "update"), (3, "end"), (4, "update")] {
            _ = try await client.answer(to: TestPush(test.authorization, timestamp: base + Int64(offset), event: event))
        }
        let token = try #require(DeviceToken.parse(TestPush.token(1)))
        let record = try #require(test.simulator.record(of: token))
        #expect(record.receivedCount == 6)
        #expect(record.acceptedCount == 6)
        #expect(record.fallingTimestampCount == 1)
        #expect(record.equalTimestampCount == 1)
        #expect(record.afterEndCount == 1)
        #expect(record.highestTimestamp == base + 4)
        await test.simulator.reset()
        #expect(test.simulator.statistics.tokenCount == 0)
        #expect(test.simulator.requests().isEmpty)
        #expect(test.simulator.statistics.tally.openConnectionCount == 1)
        await test.simulator.stop()
    }

    @Test("goes on without records when recording is off")
    func countsWithoutRecords() async throws {
        let test = try await TestSimulator.start { $0.settings.recordsRequests = false }
        let client = try await test.connect()
        _ = try await client.answer(to: test.push())
        #expect(test.simulator.requests().isEmpty)
        #expect(test.simulator.statistics.tally.requestCount == 1)
        #expect(test.simulator.statistics.tally.answerCounts == [200: 1])
        #expect(test.simulator.statistics.recordedRequestCount == 0)
        await test.simulator.stop()
    }
}
