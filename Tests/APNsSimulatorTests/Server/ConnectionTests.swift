import Testing

@testable import APNsSimulator

@Suite("Connection", .timeLimit(.minutes(1))) struct ConnectionTests {
    @Test("allows one stream until a valid provider token came, then 1000")
    func opensAfterAuthentication() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connect()
        let first = try await client.first { $0.type == FrameClient.Frame.settings && $0.flags == 0 }
        #expect(first.settings == [1: 4096, 3: 1, 4: 65_535, 5: 16_384, 6: 8000])
        _ = try await client.answer(to: test.push().with("authorization", nil))
        #expect(await client.frames.filter { $0.type == FrameClient.Frame.settings && $0.flags == 0 }.count == 1)
        let stream = try await client.send([test.push()])[0]
        _ = try await client.answer(stream)
        let frames = await client.frames
        let settings = try #require(frames.lastIndex { $0.type == FrameClient.Frame.settings && $0.flags == 0 })
        let answer = try #require(frames.firstIndex { $0.streamID == stream })
        #expect(frames[settings].settings == [3: 1000])
        #expect(settings < answer)
        await test.simulator.stop()
    }

    @Test("refuses a second stream before authentication")
    func refusesSecondStream() async throws {
        let test = try await TestSimulator.start()
        test.simulator.script(ScriptTests.effect { $0.isHeld = true })
        let client = try await test.connect()
        _ = try await client.first { $0.type == FrameClient.Frame.settings && $0.flags == 1 }
        try await client.send(test.pushes(2))
        _ = try await client.first { [FrameClient.Frame.reset, FrameClient.Frame.goAway].contains($0.type) }
        await test.simulator.stop()
    }

    @Test("serves 2,000 pushes on four of two loops")
    func servesMany() async throws {
        let test = try await TestSimulator.start { $0.eventLoopCount = 2 }
        let clients = try await [
            test.connectAuthenticated(), test.connectAuthenticated(), test.connectAuthenticated(), test.connectAuthenticated(),
        ]
        for client in clients { try await client.send(test.pushes(500)) }
        var query = RequestQuery()
        query.isSettled = true
        let requests = await test.simulator.waitForRequests(2004, matching: query)
        #expect(requests.count == 2004)
        #expect(requests.map(\.number) == Array(1...2004))
        #expect(Set(requests.map(\.connection)).count == 4)
        #expect(test.simulator.statistics.tally.answerCounts == [200: 2004])
        await test.simulator.stop()
    }
}
