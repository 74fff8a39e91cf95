import Security
import Testing

@testable import APNsSimulator

@Suite("Provider tokens", .timeLimit(.minutes(1))) struct ProviderTokenTests {
    @Test(
        "expire after an hour, and are not believed from the future",
        arguments: [
            (3600, nil), (3601, Reason.expiredProviderToken), (-300, nil), (-301, .invalidProviderToken),
        ] as [(Int64, Reason?)])
    func age(age: Int64, reason: Reason?) async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connect()
        let answer = try await client.answer(to: TestPush(test.authorization(age: age)))
        #expect(answer.status == reason?.status ?? 200)
        #expect(answer.body == (reason.map { #"{"reason":"\#($0.rawValue)"}"# } ?? ""))
        await test.simulator.stop()
    }

    @Test("that have expired spoil their connection for newer ones")
    func spoilConnections() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connect()
        let other = try await test.connect()
        #expect(try await client.answer(to: test.push()).status == 200)
        for push in [TestPush(try test.authorization(age: 3601)), test.push()] {
            #expect(try await client.answer(to: push).body == #"{"reason":"ExpiredProviderToken"}"#)
        }
        #expect(try await other.answer(to: test.push()).status == 200)
        await test.simulator.stop()
    }

    @Test("are refused when key, team, algorithm or signature is wrong")
    func refusesForgeries() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connect()
        let forgeries = [
            try TestSimulator.authorization(key: test.key, keyID: "KEY0000009"),
            try TestSimulator.authorization(key: test.key, team: "TEAM000009"),
            try TestSimulator.authorization(key: test.key, algorithm: "RS256"),
            try TestSimulator.authorization(key: ES256PrivateKey.generate()),
        ]
        for forgery in forgeries {
            #expect(try await client.answer(to: TestPush(forgery)).body == #"{"reason":"InvalidProviderToken"}"#)
        }
        // Nothing of that opened the connection: still one stream, and the first SETTINGS only.
        #expect(await client.frames.filter { $0.type == FrameClient.Frame.settings && $0.flags == 0 }.count == 1)
        await test.simulator.stop()
    }

    @Test("may be signed in DER only by option")
    func signatureInDER() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connect()
        let parts = test.authorization.split(separator: ".")
        let raw = try #require(Base64.decodeURL(String(parts[2])))
        let integer = { (number: ArraySlice<UInt8>) in [UInt8(2), 33, 0] + number }
        let sequence = integer(raw[..<32]) + integer(raw[32...])
        let encoded = "\(parts[0]).\(parts[1])." + Base64.encodeURL([0x30, UInt8(sequence.count)] + sequence)
        #expect(try await client.answer(to: TestPush(encoded)).status == 403)
        try await test.simulator.changeSettings { $0.acceptsDERSignatures = true }
        #expect(try await client.answer(to: TestPush(encoded)).status == 200)
        await test.simulator.stop()
    }

    @Test("tie a connection to a team and a key")
    func bindsConnections() async throws {
        let other = ES256PrivateKey.generate()
        let test = try await TestSimulator.start { configuration in
            configuration.keys.append(ProviderKey(teamID: TestSimulator.team, keyID: "KEY0000002", publicKey: other.publicKey))
            configuration.keys.append(ProviderKey(teamID: "TEAM000002", keyID: "KEY0000003", publicKey: other.publicKey))
        }
        let client = try await test.connectAuthenticated()
        let unrelated = TestPush(try TestSimulator.authorization(key: other, keyID: "KEY0000002"))
        #expect(try await client.answer(to: unrelated).body == #"{"reason":"UnrelatedKeyIdInToken"}"#)
        let secondTeam = TestPush(try TestSimulator.authorization(key: other, keyID: "KEY0000003", team: "TEAM000002"))
        #expect(try await client.answer(to: secondTeam).body == #"{"reason":"InvalidProviderToken"}"#)
        #expect(try await test.connect().answer(to: secondTeam).status == 200)
        await test.simulator.stop()
    }

    @Test("of a restricted key serve its environment and its topics")
    func restrictedKeys() async throws {
        let key = ES256PrivateKey.generate()
        let test = try await TestSimulator.start { configuration in
            configuration.keys = [
                ProviderKey(
                    teamID: TestSimulator.team, keyID: TestSimulator.keyID, publicKey: key.publicKey, environments: [.sandbox],
                    bundleIDs: ["com.example.other"])
            ]
        }
        let push = TestPush(try TestSimulator.authorization(key: key))
        #expect(try await test.connect().answer(to: push).body == #"{"reason":"BadEnvironmentKeyInToken"}"#)
        let sandbox = try await test.connect(.sandbox)
        #expect(try await sandbox.answer(to: push).body == #"{"reason":"TopicDisallowed"}"#)
        #expect(try await sandbox.answer(to: push.with("apns-topic", "com.example.other.push-type.liveactivity")).status == 200)
        await test.simulator.stop()
    }

    @Test("change once in 20 minutes on a connection, and the known ones stay good")
    func limitsChanges() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connect()
        let tokens = try (0..<4).map { try test.authorization(age: Int64($0)) }
        #expect(try await client.answer(to: TestPush(tokens[0])).status == 200)
        #expect(try await client.answer(to: TestPush(tokens[1])).status == 200)
        let tooMany = FrameClient.Answer(status: 429, body: #"{"reason":"TooManyProviderTokenUpdates"}"#)
        #expect(try await client.answer(to: TestPush(tokens[2])) == tooMany)
        #expect(try await client.answer(to: TestPush(tokens[0])).status == 200)
        test.clock.advance(seconds: 1199)
        #expect(try await client.answer(to: TestPush(tokens[2])) == tooMany)
        test.clock.advance(seconds: 1)
        #expect(try await client.answer(to: TestPush(tokens[2])).status == 200)
        #expect(test.simulator.statistics.providerTokenCounts == ["TEAM000001.KEY0000001": 3])
        await test.simulator.stop()
    }

    @Test("of a revoked key are worth nothing at once")
    func revokes() async throws {
        let test = try await TestSimulator.start()
        #expect(try await test.connect().answer(to: test.push()).status == 200)
        #expect(test.simulator.revoke(keyID: TestSimulator.keyID))
        #expect(try await test.connect().answer(to: test.push()).body == #"{"reason":"InvalidProviderToken"}"#)
        await test.simulator.stop()
    }
}
