import Gateway
import HTTP
import Testing

@testable import API

@Suite("Reading a device") struct DeviceReadingTests {
    private let api = TestAPI()
    private static let id = TestAPI.identifier
    private static let moment = UnixMilliseconds(rawValue: 1_772_323_199_007)

    @Test("shows what is known of it")
    func details() async {
        var device = DeviceDetails(subscriptionID: FakePorts.accepted.publicID)
        device.externalID = "fan-1"
        device.tags = [("club", "home")]
        device.registeredAt = Self.moment
        device.sessionSeconds = 60
        device.location = DeviceLocation(latitude: 52.5, longitude: -13)
        device.startTokens = [.init(activityType: "Game", service: .apnsSandbox, registeredAt: Self.moment)]
        device.activities = [
            .init(
                activityID: "m", activityType: nil, window: ActivityWindow(startedAt: 1_799_999_000), endedAt: Self.moment)
        ]
        let details = device
        api.ports.with { $0.device = details }
        let response = await api.send("GET", "/v1/devices/\(Self.id)")
        #expect(response.status == 200)
        #expect(
            response.text
                == #"{"subscription_id":"\#(Self.id)","platform":"ios","environment":"production","external_id":"fan-1","#
                + #""aliases":{},"tags":{"club":"home"},"language":null,"country":null,"app_version":null,"os_version":null,"#
                + #""timezone":null,"session_count":0,"first_session":null,"last_session":null,"session_time":60,"lat":52.5,"long":-13.0,"#
                + #""registered_at":"2026-02-28T23:59:59.007Z","start_tokens":[{"activity_type":"Game","#
                + #""environment":"sandbox","registered_at":"2026-02-28T23:59:59.007Z"}],"#
                + #""activities":[{"activity_id":"m","activity_type":null,"started_at":1799999000,"#
                + #""updates_until":1800027800,"end_until":1800042200,"ended_at":"2026-02-28T23:59:59.007Z"}]}"#)
    }

    @Test("pages through its pushes")
    func timeline() async {
        let delivery = DeviceDelivery(
            subscriptionID: FakePorts.accepted.publicID, reason: .accepted, endedAt: Self.moment,
            apnsID: UUID(high: 1, low: 2), firstClickAt: nil, tapCount: 0)
        let entry = TimelineEntry(
            notification: FakePorts.accepted.publicID, event: .end, activityID: "m", name: "over", delivery: delivery)
        api.ports.with { $0.timeline = TimelinePage(entries: [entry], next: NotificationID(rawValue: 5)) }
        let cursor = Cursor(list: .timeline, words: [5]).text
        let response = await api.send("GET", "/v1/devices/\(Self.id)/pushes?limit=1")
        #expect(
            response.text
                == #"{"pushes":[{"notification_id":"\#(Self.id)","event":"end","activity_id":"m","name":"over","#
                + #""outcome":"accepted","reason":null,"joined_channel":false,"apns_id":"00000000-0000-0001-0000-000000000002","#
                + #""at":"2026-02-28T23:59:59.007Z","first_click_at":null,"taps":0}],"next_cursor":"\#(cursor)"}"#)
        _ = await api.send("GET", "/v1/devices/\(Self.id)/pushes?cursor=\(cursor)")
        #expect(api.ports.with { $0.pageRequests } == ["\(Int64.max) 1", "5 100"])
    }

    @Test("is a 404 where the app has none of that id", arguments: [TestAPI.identifier, "nonsense"])
    func unknown(id: String) async {
        for target in ["/v1/devices/\(id)", "/v1/devices/\(id)/pushes"] {
            let response = await api.send("GET", target)
            #expect(response.status == 404)
            #expect(response.text == #"{"detail":"There is no device of this subscription id."}"#)
        }
    }

    @Test("in numbers gives totals by type of the last seven days, unless it is asked for others")
    func statistics() async {
        api.ports.with {
            $0.statistics = [
                StatisticsRow(
                    key: "Game", notificationCount: 2, targetedCount: 9, acceptedCount: 3, failedCount: 1, unknownCount: 1,
                    clickCount: 4, clickedDeviceCount: 1),
                StatisticsRow(
                    key: nil, notificationCount: 1, targetedCount: 0, acceptedCount: 0, failedCount: 0, unknownCount: 0,
                    clickCount: 0, clickedDeviceCount: 0),
            ]
        }
        let response = await api.send("GET", "/v1/stats")
        #expect(
            response.text
                == #"{"from":1799395201,"to":1800000001,"by":"activity_type","groups":[{"activity_type":"Game","#
                + #""notifications":2,"targeted":9,"accepted":3,"failed":1,"unknown":1,"clicks":4,"clicked_devices":1,"#
                + #""click_through":0.3333},{"activity_type":null,"notifications":1,"targeted":0,"accepted":0,"failed":0,"#
                + #""unknown":0,"clicks":0,"clicked_devices":0,"click_through":null}]}"#)
        _ = await api.send("GET", "/v1/stats?from=5&to=9&by=day")
        #expect(api.ports.with { $0.pageRequests } == ["1799395201..<1800000001 activityType", "5..<9 day"])
        for (query, field) in [
            ("by=hour", "by"), ("from=9&to=9", "from"), ("from=0&to=8035201", "from"), ("to=x", "to"), ("from=1e5", "from"),
            ("limit=1", "limit"), ("from=100000000000", "from"), ("from=3776860054&to=3776860056", "to"),
        ] {
            let refused = await api.send("GET", "/v1/stats?\(query)")
            #expect(refused.status == 400 && refused.field == field, "\(query): \(refused.text)")
        }
    }
}
