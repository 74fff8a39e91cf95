import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

/// What waits for a user whose device has gone to somebody else meanwhile.
@Suite("What waits for a former user", .enabled(if: TestDatabase.isAvailable)) struct FormerUserTests {
    /// How a device loses its user.
    enum Departure: CaseIterable {
        case logOut, switchOfUser, removedAlias

        var registration: DeviceRegistration {
            var registration = DeviceRegistration(pushToken: StoreFixture.pushToken(1))
            switch self {
            case .logOut: registration.aliases = ["external_id": nil]
            case .switchOfUser: registration.externalID = "fan-2"
            case .removedAlias: registration.aliases = ["customer": "43"]
            }
            return registration
        }
    }

    private static let users: [(label: String, identifier: String, departure: Departure)] = [
        ("external_id", "fan-1", .logOut), ("external_id", "fan-1", .switchOfUser), ("customer", "42", .removedAlias),
    ]

    private static func aliases(_ label: String, _ identifier: String) -> Audience {
        .aliases([AliasReference(label: label, identifier: identifier)])
    }

    private static func told(_ label: String, _ identifier: String) -> (inout DeviceRegistration) -> Void {
        { registration in
            if label == "external_id" {
                registration.externalID = identifier
            } else {
                registration.aliases = [ExactText(label): identifier]
            }
        }
    }

    private static func retry(_ chunk: Chunk, _ event: ActivityEvent) -> ChunkRecord {
        var record = ChunkRecord(chunk: chunk.id, event: event)
        record.retries = chunk.devices.map {
            RetryRecord(device: $0, attempt: 1, notBefore: UnixMilliseconds(rawValue: 1_000))
        }
        return record
    }

    @Test("a start of a list does not reach the device any more, as a list or as a retry", arguments: users.indices)
    func leavesStarts(index: Int) async throws {
        let (label, identifier, departure) = Self.users[index]
        for isRetry in [false, true] {
            try await StoreFixture.with { fixture in
                for number in 1...2 { try await fixture.addDevice(number, Self.told(label, identifier)) }
                let notification = try await fixture.accept(StoreFixture.start("match-1", Self.aliases(label, identifier)))
                let worker = try await fixture.store.registerWorker(node: "a")
                if isRetry {
                    let chunk = try #require(try await fixture.claim(worker))
                    #expect(chunk.devices.count == 2)
                    #expect(try await fixture.store.record([Self.retry(chunk, .start)], worker: worker) == [])
                }
                _ = try await fixture.store.register(departure.registration, application: fixture.application)
                let kept = try await fixture.deviceNumber(2)
                #expect(try await fixture.deliverEverything(worker)[notification.id] == [kept])
                let summary = try await fixture.summary(notification)
                #expect(summary.state == .finished && summary.targetedCount == 2)
                #expect(summary.acceptedCount == 1 && summary.failedCount == 1)
                #expect(summary.reasons.map(\.reason) == [.tokenGone])
            }
        }
    }

    @Test("a start of a live notification does not reach the device of its profile any more")
    func leavesInstances() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1, Self.told("external_id", "fan-1"))
            try await fixture.store.register(
                attributesType: StoreFixture.type, of: InstanceTests.type, application: fixture.application.id)
            let start = InstanceStart(
                profile: [AliasReference(label: "external_id", identifier: "fan-1")], notificationType: InstanceTests.type,
                pushToken: nil, platform: nil, attributes: Array("{}".utf8), contentState: Array("{}".utf8),
                alert: InstanceAlert(title: "Kick-off", body: "Now", sound: nil), deepLink: nil, expiresAt: Int64.max / 2)
            let worker = try await fixture.store.registerWorker(node: "a")
            for departure in [nil, Departure.switchOfUser] {
                guard case .started = try await InstanceTests.flow(fixture).start(start, application: fixture.application) else {
                    throw FixtureError.unexpected("a start that was not accepted")
                }
                if let departure {
                    _ = try await fixture.store.register(departure.registration, application: fixture.application)
                }
                let pushed = try await fixture.deliverEverything(worker)
                #expect(pushed.values.flatMap { $0 }.count == (departure == nil ? 1 : 0))
            }
        }
    }

    @Test("a start that names who has the device now reaches it, also after others had it")
    func reachesWhoHasIt() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1, Self.told("external_id", "fan-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            for user in ["fan-2", "fan-3"] {
                try await fixture.addDevice(1, Self.told("external_id", user))
                let notification = try await fixture.accept(StoreFixture.start("m-\(user)", Self.aliases("external_id", user)))
                #expect(try await fixture.deliverEverything(worker)[notification.id]?.count == 1)
            }
            // Names that come, and others that go of a user whom an external_id names, change nothing.
            try await fixture.addDevice(1) { $0.aliases = ["team": "red"] }
            let waiting = try await fixture.accept(StoreFixture.start("match-1", Self.aliases("external_id", "fan-3")))
            try await fixture.addDevice(1) { $0.aliases = ["team": nil, "row": "7"] }
            #expect(try await fixture.deliverEverything(worker)[waiting.id]?.count == 1)
        }
    }

    @Test("a start to devices, to everybody and to whom a filter finds is for the phone, whoever has it by then")
    func reachesPhones() async throws {
        try await StoreFixture.with { fixture in
            let subscription = try await fixture.addDevice(1, Self.told("external_id", "fan-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            let filters = FilterExpression(branches: [[.countryExists(false)]])
            for audience in [
                Audience.subscriptions([subscription]), .segments(included: ["All"], excluded: []), .filters(filters),
            ] {
                try await fixture.addDevice(1, Self.told("external_id", "fan-1"))
                let notification = try await fixture.accept(StoreFixture.start("match-1", audience))
                let chunk = try #require(try await fixture.claim(worker))
                #expect(try await fixture.store.record([Self.retry(chunk, .start)], worker: worker) == [])
                _ = try await fixture.store.register(Departure.logOut.registration, application: fixture.application)
                #expect(try await fixture.deliverEverything(worker)[notification.id]?.count == 1)
            }
        }
    }

    @Test("a start that was accepted before the commit of a log-out that had begun does not reach the device")
    func seesWhatIsNotCommitted() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1, Self.told("external_id", "fan-1"))
            // The log-out stamps its device, and is not committed yet: as slow as it can be.
            let other = try await fixture.database.connect()
            try await other.execute("begin")
            try await other.execute(
                "update device set user_left_at = clock_timestamp(), user_left_in = pg_current_xact_id()")
            let notification = try await fixture.accept(StoreFixture.start("match-1", Self.aliases("external_id", "fan-1")))
            try await other.execute("commit")
            await other.close()
            let worker = try await fixture.store.registerWorker(node: "a")
            #expect(try await fixture.deliverEverything(worker)[notification.id] == nil)
            #expect(try await fixture.summary(notification).reasons.map(\.reason) == [.tokenGone])
        }
    }

    @Test("numbers of transactions of another database, as after a restored dump, keep nobody from a start")
    func survivesRestoredDump() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1, Self.told("external_id", "fan-1"))
            try await fixture.session.execute(
                "update device set user_left_at = now() - interval '1 day', user_left_in = '9000000000000'")
            let notification = try await fixture.accept(StoreFixture.start("match-1", Self.aliases("external_id", "fan-1")))
            let worker = try await fixture.store.registerWorker(node: "a")
            #expect(try await fixture.deliverEverything(worker)[notification.id]?.count == 1)
        }
    }

    @Test("updates and ends that wait for another try find no token, whether the activity still runs or not")
    func leavesUpdates() async throws {
        for event in [ActivityEvent.update, .end] {
            try await StoreFixture.with { fixture in
                for number in 1...2 {
                    try await fixture.addDevice(number, Self.told("external_id", "fan-1"))
                    try await fixture.hold("match-1", device: number)
                }
                let notification = try await fixture.accept(event, of: "match-1")
                let worker = try await fixture.store.registerWorker(node: "a")
                let chunk = try #require(try await fixture.claim(worker))
                #expect(chunk.devices.count == 2)
                #expect(try await fixture.store.record([Self.retry(chunk, event)], worker: worker) == [])
                _ = try await fixture.store.register(Departure.logOut.registration, application: fixture.application)
                let kept = try await fixture.deviceNumber(2)
                #expect(try await fixture.deliverEverything(worker)[notification.id] == [kept], "\(event)")
                #expect(try await fixture.summary(notification).reasons.map(\.reason) == [.tokenGone])
            }
        }
    }
}
