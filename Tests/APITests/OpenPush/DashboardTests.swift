import Gateway
import HTTP
import Testing

@testable import API

@Suite("Dashboards") struct DashboardTests {
    private let api = TestAPI()
    private static let id = TestAPI.identifier
    private static let moment = UnixMilliseconds(rawValue: 1_772_323_199_007)

    private static func delivery(_ reason: DeliveryReason, taps: Int64 = 0) -> DeviceDelivery {
        DeviceDelivery(
            subscriptionID: taps > 0 ? FakePorts.accepted.publicID : nil, reason: reason, endedAt: moment,
            apnsID: UUID(high: 1, low: 2), firstClickAt: taps > 0 ? moment : nil, tapCount: taps)
    }

    @Test("show one row a device, page by page")
    func deliveries() async {
        api.ports.with {
            $0.deliveries = DeliveryPage(
                deliveries: [
                    Self.delivery(.accepted, taps: 2), Self.delivery(.unregistered), Self.delivery(.unknown),
                    Self.delivery(.acceptedForChannel),
                    DeviceDelivery(
                        isChannel: true, subscriptionID: nil, reason: .accepted, endedAt: Self.moment,
                        apnsID: UUID(high: 1, low: 2), firstClickAt: nil, tapCount: 0),
                ], next: 77)
        }
        let response = await api.send("GET", "/v1/notifications/\(Self.id)/deliveries?limit=5")
        let cursor = Cursor(list: .deliveries, words: [77]).text
        let apns = #""apns_id":"00000000-0000-0001-0000-000000000002","at":"2026-02-28T23:59:59.007Z""#
        #expect(
            response.text
                == #"{"deliveries":[{"recipient":"device","subscription_id":"\#(Self.id)","outcome":"accepted","reason":null,"#
                + #""joined_channel":false,\#(apns),"first_click_at":"2026-02-28T23:59:59.007Z","taps":2},"#
                + #"{"recipient":"device","subscription_id":null,"outcome":"failed","reason":"Unregistered","#
                + #""joined_channel":false,\#(apns),"first_click_at":null,"taps":0},"#
                + #"{"recipient":"device","subscription_id":null,"outcome":"unknown","reason":null,"#
                + #""joined_channel":false,\#(apns),"first_click_at":null,"taps":0},"#
                + #"{"recipient":"device","subscription_id":null,"outcome":"accepted","reason":null,"#
                + #""joined_channel":true,\#(apns),"first_click_at":null,"taps":0},"#
                + #"{"recipient":"channel","subscription_id":null,"outcome":"accepted","reason":null,"#
                + #""joined_channel":false,\#(apns),"first_click_at":null,"taps":0}],"#
                + #""next_cursor":"\#(cursor)"}"#)
        api.ports.with { $0.deliveries = DeliveryPage(deliveries: [], next: nil) }
        let last = await api.send("GET", "/v1/notifications/\(Self.id)/deliveries?cursor=\(cursor)")
        #expect(last.text == #"{"deliveries":[],"next_cursor":null}"#)
        #expect(api.ports.with { $0.pageRequests } == ["\(Int64.min) 5", "77 100"])
    }

    @Test("list activities, the newest first")
    func activities() async {
        api.ports.with {
            $0.activities = [
                ListedActivity(number: 9, activityID: "m-2", activityType: "Game", createdAt: Self.moment, endedAt: nil),
                ListedActivity(number: 5, activityID: "m-1", activityType: nil, createdAt: Self.moment, endedAt: Self.moment),
            ]
        }
        let both = await api.send("GET", "/v1/activities")
        #expect(
            both.text
                == #"{"activities":[{"activity_id":"m-2","activity_type":"Game","state":"active","#
                + #""created_at":"2026-02-28T23:59:59.007Z","ended_at":null},"#
                + #"{"activity_id":"m-1","activity_type":null,"state":"ended","created_at":"2026-02-28T23:59:59.007Z","#
                + #""ended_at":"2026-02-28T23:59:59.007Z"}],"next_cursor":null}"#)
        let one = await api.send("GET", "/v1/activities?limit=1")
        let cursor = Cursor(list: .activities, words: [9]).text
        #expect(one.text.hasSuffix(#""ended_at":null}],"next_cursor":"\#(cursor)"}"#))
        _ = await api.send("GET", "/v1/activities?limit=1&cursor=\(cursor)")
        #expect(api.ports.with { $0.pageRequests } == ["\(Int64.max) 101", "\(Int64.max) 2", "9 2"])
    }

    @Test("refuse a cursor of another list, a page that is too large and parameters they do not know")
    func refuses() async {
        let foreign = Cursor(list: .activities, words: [9]).text
        for (target, field) in [
            ("notifications/\(Self.id)/deliveries?cursor=\(foreign)", "cursor"),
            ("notifications/\(Self.id)/deliveries?limit=1001", "limit"), ("activities?before=1", "before"),
            ("activities?limit=0", "limit"), ("notifications/\(Self.id)?per=hour", "per"),
        ] {
            let response = await api.send("GET", "/v1/\(target)")
            #expect(response.status == 400, "\(target)")
            #expect(response.field == field, "\(target)")
        }
        #expect(await api.send("GET", "/v1/notifications/\(Self.id)/deliveries").status == 404)
        #expect(await api.send("GET", "/v1/notifications/nonsense/deliveries").status == 404)
    }

    @Test("get a chart by minutes when they ask for it")
    func chart() async {
        api.ports.with {
            $0.summary = Self.summary
            $0.minutes = [NotificationMinute(startsAt: Self.moment, acceptedCount: 4, clickedDeviceCount: 1)]
        }
        let plain = await api.send("GET", "/v1/notifications/\(Self.id)").text
        let chart = await api.send("GET", "/v1/notifications/\(Self.id)?per=minute").text
        #expect(
            chart
                == plain.dropLast() + #","minutes":[{"minute":"2026-02-28T23:59:59.007Z","accepted":4,"clicked_devices":1}]}"#)
    }

    private static let summary = NotificationSummary(
        number: FakePorts.accepted.id, publicID: FakePorts.accepted.publicID, event: .update, activityID: "m",
        activityType: "Game", name: "goal",
        state: .finished, targetedCount: 20, acceptedCount: 10, failedCount: 7, unknownCount: 1,
        reasons: [(.unregistered, 3), (.badDeviceToken, 1), (.expired, 3)], clickCount: 9, clickedDeviceCount: 5,
        createdAt: moment, finishedAt: UnixMilliseconds(rawValue: 1_772_323_200_000))

    @Test("of OneSignal read a notification in its shape")
    func message() async {
        let target = "/notifications/\(Self.id)?app_id="
        let missing = await api.send("GET", "\(target)\(TestAPI.app)")
        #expect(missing.status == 404 && missing.text == #"{"errors":["Notification not found"]}"#)
        api.ports.with { $0.summary = Self.summary }
        let counts = #""successful":10,"failed":4,"errored":4,"converted":5,"received":0"#
        let response = await api.send("GET", "\(target)\(TestAPI.app.uppercased())")
        #expect(response.status == 200)
        #expect(
            response.text
                == #"{"id":"\#(Self.id)","app_id":"\#(TestAPI.app)","name":"goal","isIos":true,"isAndroid":false,\#(counts),"#
                + #""remaining":2,"#
                + #""queued_at":1772323199,"send_after":1772323199,"completed_at":1772323200,"canceled":false,"#
                + #""platform_delivery_stats":{"ios":{\#(counts)}},"outcomes":[]}"#)
        #expect(await api.send("GET", "\(target)\(TestAPI.app)&outcome_names[]=os__click.count").status == 200)
        #expect(await api.send("GET", "\(target)\(Self.id)").status == 403)
        let wrong = await api.send("GET", "/notifications/\(Self.id)")
        #expect(wrong.status == 400 && wrong.errorTexts == ["app_id: is required"])
    }

    @Test(
        "of OneSignal read what is known by platform, and count what FCM calls dead as unsubscribed",
        arguments: [([.ios, .android], nil), ([.android], "android"), ([.ios], "ios")] as [([DevicePlatform], String?)])
    func platforms(_ platforms: [DevicePlatform], only: String?) async {
        api.ports.with {
            $0.platforms = platforms
            $0.summary = NotificationSummary(
                number: FakePorts.accepted.id, publicID: FakePorts.accepted.publicID, event: .start, activityID: "m",
                activityType: "Game", name: "goal", state: .finished, targetedCount: 12, acceptedCount: 4, failedCount: 8,
                unknownCount: 0,
                reasons: [(.fcmUnregistered, 3), (.fcmSenderIDMismatch, 2), (.fcmQuotaExceeded, 2), (.tokenGone, 1)],
                clickCount: 0, clickedDeviceCount: 0, createdAt: Self.moment, finishedAt: Self.moment)
        }
        let counts = #""successful":4,"failed":6,"errored":2,"converted":0,"received":0"#
        let response = await api.send("GET", "/notifications/\(Self.id)?app_id=\(TestAPI.app)")
        let (isIOS, isAndroid) = (platforms.contains(.ios), platforms.contains(.android))
        #expect(response.text.contains(#""isIos":\#(isIOS),"isAndroid":\#(isAndroid),\#(counts),"#), "\(response.text)")
        let statistics = only.map { #""\#($0)":{\#(counts)}"# } ?? ""
        #expect(response.text.contains(#""platform_delivery_stats":{\#(statistics)},"#), "\(response.text)")
    }
}
