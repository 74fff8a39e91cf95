import APNsSimulator
import HTTP
import TestSupport
import Testing

@Suite("A daemon that is told to stop", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct StoppingTests {
    @Test("records what is on the wire and leaves the rest to the next one: nothing is lost or doubled")
    func drains() async throws {
        // With more connections all of them could be on the wire.
        try await Deployment.run(settings: ["OPENPUSH_APNS_CONNECTIONS": "1"]) { gateway in
            try await gateway.registerDevices(1...300)
            try await gateway.holdAnswers(after: 100)
            let start = try #require(try await gateway.start("match-1")["id"])
            #expect(await gateway.simulator.waitForRequests(150).count == 150)
            let old = gateway.daemon
            async let status = old.terminate()
            // A daemon whose port is closed sends nothing any more, whatever streams become free.
            try await gateway.waitUntilClosed(old)
            try await gateway.releaseAnswers()
            #expect(await status == 0)
            let sent = gateway.pushes().count
            #expect((150..<300).contains(sent))

            try await gateway.startDaemon()
            let totals = try await gateway.waitUntilFinished(start)
            #expect(totals.number("accepted") == 300, "\(totals.text)")
            #expect(totals.number("targeted") == 300)
            #expect(gateway.pushes().count == 300)
            #expect(gateway.pushes().values.allSatisfy { $0 == 1 })
        }
    }

    @Test("answers the request it is working on, and ends idle connections")
    func answersOpenRequests() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...1)
            try await gateway.registerUpdateTokens(1...1, activity: "match-1")
            let idle = try TestSocket(port: gateway.port())
            try idle.send(TestHTTPClient.http1Request("GET", "/livez"))
            var reader = TestHTTPResponseReader()
            #expect(try reader.next(from: idle).status == 200)

            try await gateway.holdAnswers(after: 0)
            async let update = gateway.push("update", "match-1")
            #expect(await gateway.simulator.waitForRequests(1).count == 1)
            let old = gateway.daemon
            async let status = old.terminate()
            try await gateway.waitUntilClosed(old)
            try await gateway.releaseAnswers()
            #expect(try await update.status == 201)
            #expect(await status == 0)
            #expect(idle.receiveToEnd().isClosed)
        }
    }

    @Test("ends in order also while it reads certificates again")
    func endsWhileReading() async throws {
        try await Deployment.run { gateway in
            for _ in 0..<10 {
                gateway.daemon.reload()
                #expect(await gateway.daemon.terminate() == 0)
                try await gateway.startDaemon()
            }
        }
    }

    @Test("ends at once when there is nothing to do")
    func endsAtOnce() async throws {
        try await Deployment.run { gateway in
            let begin = ContinuousClock.now
            #expect(await gateway.daemon.terminate() == 0)
            #expect(begin.duration(to: .now) < .seconds(5))
        }
    }
}
