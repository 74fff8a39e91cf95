import Gateway
import JSON
import Testing

@testable import API

@Suite("Reading an event") struct EventReaderTests {
    private func outcome(_ event: String, as kind: EventReader.Kind? = nil) throws -> (EventOutcome, String?) {
        let reader = EventReader(path: "batch[2].", event: try JSONDocument(parsing: Array(event.utf8)).root, now: TestAPI.now)
        do throws(DroppedEvent) {
            _ = try reader.read(as: kind)
            return (.applied, nil)
        } catch { return (error.outcome, error.error?.description) }
    }

    private static let long = "\"\(String(repeating: "x", count: 129))\""

    @Test(
        "says what is wrong, and where",
        arguments: [
            ("7", "batch[2]: must be an object"), ("{}", "batch[2].type: is required"),
            (#"{"type":"track"}"#, "batch[2].event: is required"),
            (#"{"type":"identify","userId":7}"#, "batch[2].userId: must be a string"),
            (#"{"type":"identify","userId":\#(long)}"#, "batch[2].userId: has 129 bytes, at most 128 are allowed"),
            (
                Told.identify(context: #"{"device":{"token":"xyz","type":"ios"}}"#),
                "batch[2].context.device.token: must be hexadecimal digits, an even number of them"
            ),
            (Told.track("Report Delivery Event"), "batch[2].properties.metric: is required"),
            (Told.delivery(Told.deliveredProperties.with("deliveryId", nil)), "batch[2].properties.deliveryId: is required"),
            (
                Told.activity(Told.startedProperties.with("eventType", #""begin""#)),
                #"batch[2].properties.eventType: must be "start", "update" or "end""#
            ),
            (
                Told.activity(Told.startedProperties.with("cioInstanceId", #""1""#)),
                "batch[2].properties.cioInstanceId: must be a ULID"
            ),
            (
                Told.activity(Told.startedProperties.with("attributes", "[]")),
                "batch[2].properties.attributes: must be an object"
            ),
            (
                Told.activity(Told.startedProperties.with("contentState", #"{"a":"\#(String(repeating: "x", count: 4_096))"}"#)),
                "batch[2].properties.contentState: has 4104 bytes, at most 4096 are allowed"
            ),
            (
                Told.token(Told.startProperties.with("registrationType", nil)),
                #"batch[2].properties.registrationType: must be "push_to_start" or "instance""#
            ),
            (Told.token(Told.startProperties.with("deviceId", nil)), "batch[2].properties.deviceId: is required"),
            (Told.token(Told.startProperties.with("pushToStartToken", nil)), "batch[2].properties.pushToStartToken: is required"),
            (Told.token(Told.updateProperties.with("instanceToken", nil)), "batch[2].properties.instanceToken: is required"),
            (Told.token(Told.startProperties.with("notificationType", nil)), "batch[2].properties.notificationType: is required"),
            (
                Told.token(Told.startProperties.with("attributesType", long)),
                "batch[2].properties.attributesType: has 129 bytes, at most 128 are allowed"
            ),
        ])
    func malformed(event: String, text: String) throws {
        let (outcome, error) = try outcome(event)
        #expect(outcome == .malformed)
        #expect(error == text)
    }

    @Test(
        "tells why it has no use for an event",
        arguments: [
            (#"{"type":"screen","name":"x","userId":"u"}"#, .unused), (#"{"type":"alias","userId":"u"}"#, .unused),
            (Told.track("Goal seen"), .unused), (Told.activity(Told.startedProperties.with("eventType", #""update""#)), .unused),
            (Told.delivery(Told.deliveredProperties.with("metric", #""converted""#)), .unused),
            (#"{"type":"identify","userId":null}"#, .anonymous), (Told.identify(context: "{}"), .noDevice),
            (Told.identify(context: #"{"device":{"type":"ios"}}"#), .noDevice),
            (Told.identify(context: #"{"device":{"token":"ab","type":"tvos"}}"#), .noDevice),
            (Told.token(Told.startProperties.with("platform", nil)), .noDevice),
            (Told.delivery(Told.deliveredProperties.with("deliveryId", #""dgLc""#)), .unknownDelivery),
        ] as [(String, EventOutcome)])
    func useless(event: String, expected: EventOutcome) throws {
        let (outcome, error) = try outcome(event)
        #expect(outcome == expected)
        #expect(error == nil)
    }

    @Test("leaves out what does not fit of what is only good to know")
    func leavesOut() throws {
        let context = #"{"device":{"token":"ab","type":"iOS"},"locale":"x","timezone":"","app":{"version":7},"os":"iOS"}"#
        let event = try JSONDocument(parsing: Array(Told.identify(#"{"email":"","phone":4}"#, context: context).utf8)).root
        guard case .identified(_, let device?) = try EventReader(path: "", event: event, now: 0).read(as: nil) else {
            Issue.record("no device")
            return
        }
        #expect(device.externalID == "fan-1" && device.aliases.isEmpty)
        #expect(device.language == nil && device.country == nil && device.timeZone == nil)
        #expect(device.appVersion == nil && device.osVersion == nil && device.isEnabled == nil)
    }

    @Test(
        "reads dates of RFC 3339",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2027-01-15T08:00:00.000Z", 1_800_000_000_000),
            ("2024-02-29T23:59:59.007Z", 1_709_251_199_007),
            ("2027-01-15T09:30:00.25+01:30", 1_800_000_000_250), ("2027-01-15t07:00:00.1234567-01:00", 1_800_000_000_123),
            ("2026-12-31T23:59:60Z", 1_798_761_600_000),
        ])
    func dates(text: String, milliseconds: Int64) {
        #expect(UnixMilliseconds(dateText: text)?.rawValue == milliseconds)
    }

    @Test(
        "writes and reads the same date",
        arguments: [0, 951_868_799_999, 1_709_164_800_000, 1_800_000_000_001, 4_107_542_399_000])
    func roundTrip(milliseconds: Int64) {
        let date = UnixMilliseconds(rawValue: milliseconds)
        #expect(UnixMilliseconds(dateText: date.dateText) == date)
    }

    @Test(
        "reads no other dates",
        arguments: [
            "", "2027-01-15", "2027-01-15T08:00:00", "2027-13-01T00:00:00Z", "2027-02-29T00:00:00Z", "2027-00-10T00:00:00Z",
            "2027-01-00T00:00:00Z", "2027-01-15T24:00:00Z", "2027-01-15T08:60:00Z", "2027-01-15T08:00:61Z",
            "2027-01-15T08:00:00.Z",
            "2027-01-15T08:00:00Zx", "2027-01-15T08:00:00+1:00", "1969-12-31T23:59:59Z", "1800000000", "２027-01-15T08:00:00Z",
        ])
    func noDates(text: String) { #expect(UnixMilliseconds(dateText: text) == nil) }
}
