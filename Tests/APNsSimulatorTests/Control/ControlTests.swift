import HTTP
import JSON
import Security
import Testing

@testable import APNsSimulator

@Suite("Control requests", .timeLimit(.minutes(1))) struct ControlTests {
    /// Asks as the listener would, and reads the answer.
    static func ask(
        _ test: TestSimulator, _ method: String, _ target: String, _ body: String = ""
    ) async throws -> (status: Int, root: JSONValue?) {
        let request = HTTPRequest(method: method, target: target, body: Array(body.utf8))
        let response = await ControlHandler(simulator: test.simulator).respond(to: request)
        return (response.status, response.body.isEmpty ? nil : try JSONDocument(parsing: response.body).root)
    }

    @Test("declare tokens of every state")
    func declaresTokens() async throws {
        let test = try await TestSimulator.start()
        let declared = try await Self.ask(
            test, "POST", "/tokens",
            """
            [{"token":"\(TestPush.token(1))","state":"unregistered","since":1700000000123},
             {"token":"\(TestPush.token(2).uppercased())","state":"expired","since":1700000000456},
             {"token":"\(TestPush.token(3))","state":"bad"},{"token":"\(TestPush.token(4))","state":"wrong-topic"},
             {"token":"\(TestPush.token(5))","environment":"sandbox"},{"token":"\(TestPush.token(6))","topic":"other"}]
            """)
        #expect(declared.status == 200)
        #expect(declared.root?["declared"]?.integer == 6)
        let client = try await test.connect()
        var answers: [Int] = []
        for push in test.pushes(6) { answers.append(try await client.answer(to: push).status) }
        #expect(answers == [410, 410, 400, 400, 400, 400])
        let reasons = test.simulator.statistics.tally.reasonCounts
        #expect(reasons == ["Unregistered": 1, "ExpiredToken": 1, "BadDeviceToken": 2, "DeviceTokenNotForTopic": 2])
        await test.simulator.stop()
    }

    @Test("register and revoke keys")
    func registersKeys() async throws {
        let test = try await TestSimulator.start { $0.keys = [] }
        let client = try await test.connect()
        #expect(try await client.answer(to: test.push()).status == 403)
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("team_id", TestSimulator.team)
        writer.member("key_id", TestSimulator.keyID)
        writer.member("public_key", String(decoding: test.key.publicKey.pem, as: UTF8.self))
        writer.key("environments")
        writer.raw(#"["production"]"#.utf8)
        writer.endObject()
        let body = String(decoding: writer.bytes, as: UTF8.self)
        #expect(try await Self.ask(test, "POST", "/keys", body).status == 201)
        #expect(try await client.answer(to: test.push()).status == 200)
        #expect(try await test.connect(.sandbox).answer(to: test.push()).body == #"{"reason":"BadEnvironmentKeyInToken"}"#)
        #expect(try await Self.ask(test, "DELETE", "/keys/\(TestSimulator.keyID)").status == 204)
        #expect(try await client.answer(to: test.push()).status == 403)
        #expect(try await Self.ask(test, "DELETE", "/keys/\(TestSimulator.keyID)").status == 404)
        await test.simulator.stop()
    }

    @Test("add, count and remove rules")
    func scripts() async throws {
        let test = try await TestSimulator.start()
        let rules = #"""
            [{"token":"\#(TestPush.token(2))","answer":{"status":429,"reason":"TooManyRequests","headers":{"retry-after":"7"}}},
             {"event":"update","after":1,"every":2,"count":1,"delay_ms":[1,2],"answer":{"reason":"Shutdown"}}]
            """#
        let added = try await Self.ask(test, "POST", "/rules", rules)
        #expect(added.status == 201)
        #expect(added.root?["ids"]?.elements.map(\.integer) == [1, 2])
        let client = try await test.connect()
        var answers: [Int] = []
        for number in [1, 2, 1, 1] { answers.append(try await client.answer(to: test.push(token: number)).status) }
        #expect(answers == [200, 429, 503, 200])
        let counts = try await Self.ask(test, "GET", "/rules").root?["rules"]?.elements
        #expect(counts?.map { $0["applied"]?.integer } == [1, 1])
        #expect(try await Self.ask(test, "DELETE", "/rules/1").status == 204)
        #expect(try await Self.ask(test, "DELETE", "/rules/1").status == 404)
        #expect(try await Self.ask(test, "DELETE", "/rules").status == 204)
        #expect(try await Self.ask(test, "GET", "/rules").root?["rules"]?.elements.count == 0)
        await test.simulator.stop()
    }

    @Test("read every kind of fault")
    func readsFaults() throws {
        let text = #"""
            {"on":"connection","environment":"sandbox","topic":"t","provider_token":2,"fraction":0.5,"delay_ms":5,"no_answer":true,
             "hold":true,"goaway":{"last":"none","code":7,"debug":"x"},"reset":{"code":8},"stall_ms":9,"close":"after","refuse":true,
             "settings":{"max_concurrent_streams":1,"initial_window_size":0},"ignore_handshake":true,"foreign_certificate":true}
            """#
        let rule = try RuleReader.rule(JSONDocument(parsing: Array(text.utf8)).root)
        #expect(rule.subject == .connection)
        #expect(rule.condition.environment == .sandbox)
        #expect(rule.condition.providerToken == 2)
        #expect(rule.condition.fraction == 0.5)
        #expect(rule.effect.delayMilliseconds == 5...5)
        #expect(rule.effect.isSilent && rule.effect.isHeld && rule.effect.refusesConnection)
        #expect(rule.effect.ignoresHandshake && rule.effect.showsForeignCertificate)
        #expect(rule.effect.goAway == Rule.GoAway(last: .none, code: 7, debugData: Array("x".utf8)))
        #expect(rule.effect.resetCode == 8)
        #expect(rule.effect.stallMilliseconds == 9)
        #expect(rule.effect.close == .after)
        #expect(rule.effect.settings == [.maxConcurrentStreams(1), .initialWindowSize(0)])
    }

    @Test(
        "say what is wrong",
        arguments: [
            ("POST", "/rules", #"{"anwser":{}}"#, "rule.anwser is not known"),
            ("POST", "/rules", #"{"answer":{}}"#, "rule.answer.status is missing"),
            ("POST", "/rules", #"{"every":0}"#, "rule.every is not an integer in 1...1000000000"),
            ("POST", "/rules", #"{"goaway":{"last":"some"}}"#, "goaway.last is neither a stream nor all, none, this or before"),
            ("POST", "/rules", #"{"delay_ms":[3,1]}"#, "rule.delay_ms is not milliseconds, or two of them in rising order"),
            ("POST", "/rules", "[1]", "rule is not an object"),
            ("POST", "/tokens", #"{"token":"xy"}"#, "token.token is not hexadecimal digits"),
            ("POST", "/tokens", #"{"state":"bad"}"#, "token.token is missing"),
            (
                "POST", "/keys", #"{"team_id":"T","key_id":"K","public_key":"?"}"#,
                "key.public_key is not the PEM text of a P-256 key"
            ),
            ("PUT", "/settings", #"{"latency":1}"#, "settings.latency is not known"),
            ("GET", "/requests?token=x", "", "token is not hexadecimal"),
            ("GET", "/requests?first=1", "", "first is not known"),
        ])
    func refuses(method: String, target: String, body: String, sentence: String) async throws {
        let test = try await TestSimulator.start()
        let answer = try await Self.ask(test, method, target, body)
        #expect(answer.status == 400)
        #expect(answer.root?["error"]?.string == sentence)
        await test.simulator.stop()
    }

    @Test("show requests with header fields, body and answer, after waiting for them")
    func showsRequests() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connect()
        let push = test.push(token: 7)
        async let waited = Self.ask(test, "GET", "/requests?token=\(TestPush.token(7))&wait_ms=60000&count=1&settled=true")
        _ = try await client.answer(to: push)
        let shown = try #require(try await waited.root?["requests"]?.elements.first)
        #expect(shown["status"]?.integer == 200)
        #expect(shown["token"]?.string == TestPush.token(7))
        #expect(shown["environment"]?.string == "production")
        #expect(shown["path"]?.string == push.path)
        #expect(shown["event"]?.string == "update")
        #expect(shown["shape_errors"]?.elements.count == 0)
        #expect(shown["headers"]?.elements.first?.elements.map(\.string) == ["authorization", test.authorization])
        #expect(shown["body"]?.string == Base64.encode(push.body))
        #expect(shown["json"]?["aps"]?["content-state"]?["score"]?.integer == 1)
        let stats = try #require(try await Self.ask(test, "GET", "/stats").root)
        #expect(stats["requests"]?.integer == 1)
        #expect(stats["answers"]?["200"]?.integer == 1)
        #expect(stats["timestamps_rising"]?.bool == true)
        #expect(stats["provider_tokens"]?["TEAM000001.KEY0000001"]?.integer == 1)
        let token = try await Self.ask(test, "GET", "/tokens?token=\(TestPush.token(7))").root?["tokens"]?.elements.first
        #expect(token?["accepted"]?.integer == 1)
        #expect(try await Self.ask(test, "POST", "/reset").status == 204)
        #expect(try await Self.ask(test, "GET", "/requests").root?["requests"]?.elements.count == 0)
        await test.simulator.stop()
    }

    @Test("change settings, hold and release")
    func changesSettings() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connectAuthenticated()
        let changed = try await Self.ask(
            test, "PUT", "/settings", #"{"concurrent_streams":3,"record_limit":5,"clock_offset_s":-60}"#)
        #expect(changed.root?["record_limit"]?.integer == 5)
        #expect(try await Self.ask(test, "GET", "/settings").root?["concurrent_streams"]?.integer == 3)
        _ = try await client.first { $0.settings[3] == 3 }
        #expect(try await Self.ask(test, "POST", "/rules", #"{"hold":true}"#).status == 201)
        let stream = try await client.send([test.push()])[0]
        _ = await test.simulator.waitForRequests(2)
        #expect(try await Self.ask(test, "POST", "/release", #"{"count":1}"#).root?["released"]?.integer == 1)
        #expect(try await client.answer(stream).status == 200)
        #expect(try await Self.ask(test, "POST", "/connections", #"{"close":"before"}"#).status == 204)
        await client.waitUntilClosed()
        await test.simulator.stop()
    }
}
