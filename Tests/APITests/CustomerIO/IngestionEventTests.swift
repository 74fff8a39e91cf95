import Gateway
import HTTP
import Testing

@testable import API

@Suite("Customer.io events") struct IngestionEventTests {
    private let api = TestAPI()
    private static let device = DeviceName.pushToken([0xAB, 0x01])

    // MARK: Devices

    @Test("identify gives the device its user, names and what is known of it")
    func identify() async throws {
        _ = await api.tell(Told.identify(#"{"email":"f@e.com","phone":null,"first_name":"F"}"#))
        let device = try #require(api.ports.with { $0.registrations.last })
        #expect(device.pushToken == [0xAB, 0x01])
        #expect(device.externalID == "fan-1")
        #expect(device.aliases == ["email": "f@e.com", "phone": nil])
        #expect(device.language == "de" && device.country == "AT" && device.timeZone == "Europe/Vienna")
        #expect(device.appVersion == "4.2" && device.osVersion == "18.1")
        // The app's own decides.
        #expect(device.environment == nil)
    }

    @Test("names told before the device has a push token are the device's when it comes, and the user's on other devices at once")
    func namesFirst() async throws {
        let early = Told.identify(#"{"email":"f@e.com","phone":"1"}"#, context: #"{"device":{"type":"ios"}}"#)
        _ = await api.tell(early)
        #expect(api.ports.with { $0.registrations.isEmpty })
        #expect(api.ports.with { $0.userChanges.map(\.aliases) } == [["email": "f@e.com", "phone": "1"]])
        #expect(
            api.ports.with { $0.users } == [
                UserSelector(
                    .alias(DeviceAlias(label: "external_id", identifier: "fan-1")), isWholeUser: false, proof: nil)
            ])
        let device = Told.track("Device Created or Updated", more: #","context":\#(Told.context)"#)
        _ = await api.tell(device, Told.identify(#"{"phone":null}"#), device)
        let told = api.ports.with { $0.registrations.map(\.aliases) }
        #expect(told == [["email": "f@e.com", "phone": "1"], ["email": "f@e.com", "phone": nil], ["email": "f@e.com"]])
        #expect(api.outcomes == [.applied: 4])
    }

    @Test("names that are known already change no other device")
    func namesAgain() async {
        let event = Told.identify(#"{"email":"f@e.com"}"#)
        _ = await api.tell(event, event)
        #expect(api.ports.with { $0.userChanges.count } == 1 && api.ports.with { $0.registrations.count } == 2)
    }

    @Test(
        "a device event does the same, and says whether notifications are allowed",
        arguments: [("true", true), (#""False""#, false)])
    func deviceChanged(literal: String, isEnabled: Bool) async throws {
        _ = await api.tell(
            Told.track(
                "Device Created or Updated", #"{"push_enabled":\#(literal),"device_locale":"pt_BR"}"#,
                more: #","context":{"device":{"token":"ab01","type":"ios"}}"#))
        let device = try #require(api.ports.with { $0.registrations.last })
        #expect(device.externalID == "fan-1" && device.aliases.isEmpty)
        #expect(device.isEnabled == isEnabled)
        #expect(device.language == "pt" && device.country == "BR")
    }

    @Test("a deleted device belongs to nobody, if it was that user's")
    func deviceDeleted() async throws {
        let event = Told.track("Device Deleted", more: #","context":\#(Told.context)"#)
        _ = await api.tell(event)
        let device = try #require(api.ports.with { $0.registrations.last })
        #expect(device.namesWholeUser && device.externalID == nil && device.pushToken == [0xAB, 0x01])
        #expect(api.ports.with { $0.askedAliases } == [DeviceAlias(label: "external_id", identifier: "fan-1")])
        api.ports.with { $0.hasAlias = false }
        _ = await api.tell(event)
        #expect(api.ports.with { $0.registrations.count } == 1)
        #expect(api.outcomes == [.applied: 1, .foreign: 1])
    }

    @Test("a device with too many names is passed over")
    func tooManyAliases() async {
        api.ports.with { $0.registration = .tooManyAliases }
        #expect(await api.tell(Told.identify()).status == 200)
        #expect(api.outcomes == [.refused: 1])
    }

    // MARK: Tokens

    @Test("a push-to-start token is kept under the type the SDK registered, which is noted")
    func startToken() async {
        _ = await api.tell(Told.token())
        #expect(api.ports.with { $0.startTokens.map(\.activityType) } == ["ScoreAttributes"])
        #expect(api.ports.with { $0.devices } == [Self.device])
        #expect(api.instances.with { $0.registrations } == ["\(Told.type) ScoreAttributes"])
        // It is noted once, and anew when it changes.
        _ = await api.tell(Told.token(), Told.token(Told.startProperties.with("attributesType", #""NewAttributes""#)))
        #expect(api.instances.with { $0.registrations } == ["\(Told.type) ScoreAttributes", "\(Told.type) NewAttributes"])
        #expect(api.ports.with { $0.startTokens.map(\.activityType) } == ["ScoreAttributes", "ScoreAttributes", "NewAttributes"])
        // The device is known, and stays whose it is.
        #expect(api.ports.with { $0.registrations.isEmpty && $0.askedAliases.isEmpty })
    }

    @Test("a token without a type is kept under the registered one, the template's, or the notification type")
    func startTokenWithoutType() async {
        let properties = Told.startProperties.with("attributesType", nil)
        _ = await api.tell(Told.token(properties), Told.token(properties.with("notificationType", #""com.example.score""#)))
        api.instances.with { $0.attributesTypes[Told.type] = "OwnAttributes" }
        _ = await api.tell(Told.token(properties))
        #expect(
            api.ports.with { $0.startTokens.map(\.activityType) } == [
                "CIOSegmentsAttributes", "com.example.score", "OwnAttributes",
            ])
    }

    @Test("tokens of a device that is not known make it known, with the user")
    func tokensOfUnknownDevice() async {
        for event in [Told.token(), Told.token(Told.updateProperties)] {
            api.ports.with { $0.unknownTokenCount = 1 }
            _ = await api.tell(event)
        }
        #expect(api.ports.with { $0.registrations.map(\.externalID) } == ["fan-1", "fan-1"])
        #expect(api.ports.with { $0.startTokens.count } == 2)
        #expect(api.ports.with { $0.updateTokens.count } == 2)
        #expect(api.outcomes == [.applied: 2])
        // One that does not become known is given up, without a third try.
        api.ports.with { $0.isKnown = false }
        _ = await api.tell(Told.token(), Told.token(Told.updateProperties))
        #expect(api.outcomes == [.applied: 2, .noDevice: 2])
        #expect(api.ports.with { $0.startTokens.count + $0.updateTokens.count } == 8)
    }

    @Test("an instance token is the update token of an activity of that id, in upper case")
    func updateToken() async throws {
        _ = await api.tell(Told.token(Told.updateProperties.with("cioInstanceId", "\"\(Told.instance.lowercased())\"")))
        let token = try #require(api.ports.with { $0.updateTokens.last })
        #expect(token.activityID == Told.instance)
        #expect(token.token == [0x0E, 0x0F])
        #expect(token.device == Self.device)
        #expect(token.activityType == "CIOSegmentsAttributes")
        #expect(token.startedAt == nil)
        #expect(api.instances.with { $0.registrations.isEmpty })
        api.ports.with { $0.isEndedOnDevice = true }
        _ = await api.tell(Told.token(Told.updateProperties))
        #expect(api.outcomes == [.applied: 1, .ended: 1])
    }

    // MARK: Activities

    @Test("a start is reported byte for byte, with its user, time and message")
    func started() async throws {
        _ = await api.tell(Told.activity(more: #","timestamp":"2027-01-15T07:59:00.500Z""#))
        let report = try #require(api.instances.with { $0.reports.last })
        #expect(report.event == .start)
        #expect("\(report.instance)" == Told.instance)
        #expect(report.pushToken == [0xAB, 0x01])
        #expect(report.profile == [AliasReference(label: "external_id", identifier: "fan-1")])
        #expect(report.notificationType == Told.type && report.platform == .ios)
        #expect(report.attributes.map { String(decoding: $0, as: UTF8.self) } == #"{"header":"A", "cioInstanceId":"x"}"#)
        #expect(report.contentState.map { String(decoding: $0, as: UTF8.self) } == #"{"status":1.0}"#)
        #expect(report.at == TestAPI.now - 60)
        #expect(report.messageID == "m-1")
        #expect(api.ports.with { $0.registrations.isEmpty && $0.ends.isEmpty })
    }

    @Test("a clock that runs ahead, or none, means now", arguments: ["2027-01-15T08:00:01Z", "yesterday"])
    func clocks(text: String) async {
        _ = await api.tell(Told.activity(more: #","timestamp":"\#(text)""#))
        #expect(api.instances.with { $0.reports.last?.at } == TestAPI.now)
    }

    @Test("a start on a device of somebody else, or of nobody, moves it to the user; a stranger's is passed over")
    func startElsewhere() async {
        api.instances.with { $0.reportAnswers = [false, true, false] }
        _ = await api.tell(Told.activity())
        #expect(api.ports.with { $0.registrations.map(\.externalID) } == ["fan-1"])
        #expect(api.outcomes == [.applied: 1])
        _ = await api.tell(Told.activity())
        #expect(api.instances.with { $0.reports.count } == 4)
        #expect(api.outcomes == [.applied: 1, .foreign: 1])
    }

    @Test("an end is reported, and ends the activity on the device; it moves no device")
    func ended() async throws {
        _ = await api.tell(Told.activity(Told.endedProperties))
        let report = try #require(api.instances.with { $0.reports.last })
        #expect(report.event == .end && report.attributes == nil && report.contentState == nil)
        #expect(api.ports.with { $0.ends } == [Told.instance])
        api.instances.with { $0.reportAnswers = [false] }
        api.ports.with { $0.isKnown = false }
        _ = await api.tell(Told.activity(Told.endedProperties))
        #expect(api.ports.with { $0.ends.count } == 2)
        #expect(api.ports.with { $0.registrations.isEmpty })
        #expect(api.outcomes == [.applied: 1, .foreign: 1])
    }

    @Test("without messages, reports are kept apart by device, and openings by their time; what is told again is not")
    func withoutMessages() async {
        let unnamed = { (event: String) in event.replacing(#""messageId":"m-1","#, with: "") }
        let other = Told.endedProperties.with("deviceId", #""ab02""#)
        for properties in [Told.endedProperties, other, other] { _ = await api.tell(unnamed(Told.activity(properties))) }
        let keys = api.instances.with { $0.reports.map(\.messageID) }
        #expect(keys.count == 3 && keys[0] != keys[1] && keys[1] == keys[2])
        #expect(keys.allSatisfy { $0.hasPrefix("end \(Told.instance) ") && $0.utf8.count <= 128 && !$0.contains("ab0") })
        let opened = Told.deliveredProperties.with("metric", #""opened""#)
        for moment in ["07:00:00Z", "07:00:01Z", "07:00:01Z"] {
            let more = #","timestamp":"2027-01-15T\#(moment)""#
            _ = await api.tell(unnamed(Told.track("Report Delivery Event", opened.text, more: more)))
        }
        let counts = api.instances.with { $0.counts }
        #expect(counts.count == 3 && counts[0] != counts[1] && counts[1] == counts[2])
    }

    // MARK: Deliveries

    @Test("a delivered or opened push is counted by message, with a user or without")
    func deliveries() async {
        _ = await api.tell(
            Told.delivery(user: nil), Told.delivery(Told.deliveredProperties.with("metric", #""opened""#)))
        #expect(api.instances.with { $0.counts } == ["delivered \(Told.instance) m-1", "opened \(Told.instance) m-1"])
        api.instances.with { $0.knowsDeliveries = false }
        _ = await api.tell(Told.delivery(), Told.delivery(Told.deliveredProperties.with("deliveryId", #""dgLc""#)))
        #expect(api.outcomes == [.applied: 2, .unknownDelivery: 2])
    }

    // MARK: What is not kept

    @Test("anonymous events are taken, and nothing of them is stored")
    func notKept() async {
        let events = [
            Told.identify(user: nil), Told.identify(user: ""), Told.token(user: nil),
            Told.token(Told.updateProperties, user: nil), Told.activity(user: nil), Told.track("Device Deleted", user: nil),
        ]
        #expect(await api.tell(events.joined(separator: ",")).status == 200)
        #expect(api.outcomes == [.anonymous: 6])
        #expect(
            api.ports.with { $0.registrations.isEmpty && $0.startTokens.isEmpty && $0.updateTokens.isEmpty && $0.ends.isEmpty })
        #expect(api.instances.with { $0.reports.isEmpty && $0.registrations.isEmpty })
    }

    @Test("an Android device is known by the text of FCM's token, under which it is started and updated")
    func android() async throws {
        let token = "fcm:APA91b-x_Y"
        let context = #"{"device":{"token":"\#(token)","type":"android"}}"#
        let started = Told.startProperties.with("platform", #""android""#).with("deviceId", "\"\(token)\"")
            .with("pushToStartToken", "\"\(token)\"").with("attributesType", nil)
        let shown = Told.startedProperties.with("platform", #""android""#).with("deviceId", "\"\(token)\"")
        let ended = Told.endedProperties.with("platform", #""android""#).with("deviceId", "\"\(token)\"")
        _ = await api.tell(
            Told.identify(context: context), Told.token(started), Told.activity(shown), Told.activity(ended))
        #expect(api.outcomes == [.applied: 4])
        let bytes = Array(token.utf8)
        let registration = try #require(api.ports.with { $0.registrations.first })
        #expect(registration.platform == .android && registration.pushToken == bytes)
        let start = try #require(api.ports.with { $0.startTokens.first })
        #expect(start.activityType == Told.type && start.token == bytes && start.device == .pushToken(bytes))
        let update = try #require(api.ports.with { $0.updateTokens.first })
        #expect(update.activityID == Told.instance && update.token == bytes && update.device == .pushToken(bytes))
        #expect(api.instances.with { $0.reports.map(\.platform) } == [.android, .android])
        #expect(api.ports.with { $0.ends } == [Told.instance])
    }

    @Test("an iOS device may be known by FCM's token, and is started under ActivityKit's")
    func behindFCM() async throws {
        let token = "fcm:APA91b-x_Y"
        _ = await api.tell(Told.token(Told.startProperties.with("deviceId", "\"\(token)\"")))
        let start = try #require(api.ports.with { $0.startTokens.first })
        #expect(start.device == .pushToken(Array(token.utf8)) && start.token == [0x0C, 0x0D])
        _ = await api.tell(Told.token(Told.startProperties.with("pushToStartToken", "\"\(token)\"")))
        #expect(api.outcomes == [.applied: 1, .malformed: 1])
    }

    @Test("events are applied in their order: the last user of a device has it")
    func order() async {
        _ = await api.tell(Told.identify(user: "a"), Told.identify(user: "b"), Told.identify(user: "a"))
        #expect(api.ports.with { $0.registrations.map(\.externalID) } == ["a", "b", "a"])
    }
}
