import HTTP
import Testing

@testable import API

@Suite("Router") struct RouterTests {
    private func match(_ method: String, _ target: String) -> Router.Match {
        Router.match(HTTPRequest(method: method, target: target))
    }

    @Test(
        "finds each route with its parameters",
        arguments: [
            ("POST", "/apps/a/activities/activity/Game", .startActivity, ["a", "Game"]),
            ("POST", "/apps/a/live_activities/m/notifications", .pushActivity, ["a", "m"]),
            ("POST", "/apps/a/segments", .createAppSegment, ["a"]), ("GET", "/apps/a/segments?x", .listAppSegments, ["a"]),
            ("GET", "/apps/a/segments/s", .readAppSegment, ["a", "s"]),
            ("PATCH", "/apps/a/segments/s", .changeAppSegment, ["a", "s"]),
            ("DELETE", "/apps/a/segments/s", .removeAppSegment, ["a", "s"]), ("POST", "/v1/segments", .createSegment, []),
            ("GET", "/v1/segments", .listSegments, []), ("GET", "/v1/segments/s", .readSegment, ["s"]),
            ("PATCH", "/v1/segments/s", .changeSegment, ["s"]), ("DELETE", "/v1/segments/s", .removeSegment, ["s"]),
            ("POST", "/v1/audiences/preview", .previewAudience, []),
            ("POST", "/notifications/count-unsaved", .countUnsaved, []), ("POST", "/v1/devices", .registerDevice, []),
            ("POST", "/v1/live-activities/update-tokens", .setUpdateToken, []),
            ("POST", "/v1/live-activities/start-tokens", .setStartToken, []),
            ("DELETE", "/v1/live-activities/start-tokens", .removeStartToken, []),
            ("POST", "/v1/live-activities/clicks", .recordClick, []), ("POST", "/v1/live-activities/ends", .endActivity, []),
            ("POST", "/v1/activities/m/subscribe", .joinChannel, ["m"]),
            ("GET", "/v1/notifications/n", .readNotification, ["n"]),
            ("GET", "/v1/notifications/n/events", .watchNotification, ["n"]),
            ("GET", "/v1/notifications/n/deliveries?cursor=1", .listDeliveries, ["n"]),
            ("GET", "/v1/devices/d", .readDevice, ["d"]), ("GET", "/v1/devices/d/pushes", .listPushes, ["d"]),
            ("GET", "/v1/stats?by=day", .readStatistics, []),
            ("GET", "/v1/activities", .listActivities, []), ("GET", "/notifications/n?app_id=a", .readMessage, ["n"]),
            ("GET", "/v1/notifications?limit=5", .listNotifications, []),
            ("HEAD", "/v1/activities/a%20b", .readActivity, ["a b"]), ("GET", "/livez", .live, []),
            ("GET", "/readyz?x", .ready, []), ("POST", "/v1/live_notifications/start", .startLiveNotification, []),
            ("POST", "/v1/live_notifications/update", .updateLiveNotification, []),
            ("POST", "/v1/live_notifications/end", .endLiveNotification, []),
            ("GET", "/v1/live_notifications?profile=id:1", .listLiveNotifications, []),
            ("GET", "/v1/live_notifications/types", .listNotificationTypes, []),
            ("PATCH", "/v1/live_notifications/types/a.b", .nameNotificationType, ["a.b"]),
            ("GET", "/v1/live_notifications/i", .readLiveNotification, ["i"]),
            ("GET", "/v1/live_notifications/start", .readLiveNotification, ["start"]),
            ("GET", "/v1/live_notifications/i/deliveries", .listInstanceDeliveries, ["i"]),
            ("POST", "/core-services/v1/campaigns", .createCampaign, []),
            ("POST", "/v1.0/live-activity/broadcast/start", .startBroadcast, []),
            ("POST", "/v1.0/live-activity/broadcast/update", .updateBroadcast, []),
            ("POST", "/v1.0/live-activity/broadcast/end", .endBroadcast, []),
            ("POST", "/v1/b", .sendBatch, []), ("POST", "/v1/batch", .sendPublicBatch, []), ("POST", "/v1/track", .sendTrack, []),
            ("POST", "/v1/identify", .sendIdentify, []),
            ("GET", "/v1/projects/a%20key/settings", .readProjectSettings, ["a key"]),
            ("GET", "/apps/a/ios_params.js", .readClientParameters, ["a"]),
            ("GET", "/apps/a/android_params.js", .readAndroidParameters, ["a"]),
            ("HEAD", "/metrics", .metrics, []), ("GET", "/openapi.json", .openAPI, []),
        ] as [(String, String, Route, [String])])
    func finds(method: String, target: String, route: Route, parameters: [String]) {
        #expect(match(method, target) == .found(route, parameters: parameters))
    }

    @Test(
        "splits the path before decoding it",
        arguments: [
            ("Odd%20Type%2Fu", "Odd Type/u"), ("%2520", "%20"), ("a+b", "a+b"), ("%C3%A9", "é"), ("a%3Fb", "a?b"),
        ])
    func decodes(segment: String, parameter: String) {
        #expect(match("POST", "/apps/a/activities/activity/\(segment)") == .found(.startActivity, parameters: ["a", parameter]))
    }

    @Test(
        "knows no other paths",
        arguments: [
            "/", "*", "/v1", "/v1/", "/v1/devices/", "//v1/devices", "/v1//devices", "/V1/devices", "/apps//segments", "/livez/",
            "/v1/notifications/", "/apps/a/activities/activity/", "/apps/a/activities/activity/x/y", "/v1%2Fdevices",
            "/v1/activities/%FF", "/v1/activities/%2", "/v1/activities/%00",
        ])
    func unknown(target: String) {
        #expect(match("GET", target) == .notFound)
        #expect(match("POST", target) == .notFound)
    }

    @Test("decodes fixed segments too")
    func decodesFixed() { #expect(match("GET", "/live%7A") == .found(.live, parameters: [])) }

    @Test(
        "names the methods of a known path",
        arguments: [
            ("GET", "/v1/devices", ["POST"], .detail), ("PUT", "/v1/live-activities/start-tokens", ["POST", "DELETE"], .detail),
            ("POST", "/livez", ["GET", "HEAD"], .detail), ("OPTIONS", "/v1/notifications", ["GET", "HEAD"], .detail),
            ("post", "/v1/devices", ["POST"], .detail), ("HEAD", "/v1/devices", ["POST"], .detail),
            ("PUT", "/v1/live_notifications/start", ["POST", "GET", "HEAD"], .meta),
            ("POST", "/v1/live_notifications/types", ["GET", "HEAD"], .meta), ("PUT", "/apps/a/users", ["POST"], .objects),
            ("PUT", "/apps/a/segments", ["POST", "GET", "HEAD"], .success),
            ("GET", "/apps/a/activities/activity/x", ["POST"], .errors),
        ] as [(String, String, [String], Envelope)])
    func methods(method: String, target: String, allowed: [String], envelope: Envelope) {
        #expect(match(method, target) == .methodNotAllowed(allowed, envelope))
    }

    @Test("answers unknown paths and methods in the family's shape, without asking for a key")
    func answers() async {
        let api = TestAPI()
        let rootPath = await api.send("GET", "/apps/x/nothing", key: nil)
        #expect(rootPath.status == 404)
        #expect(rootPath.text == #"{"errors":["There is no such route."]}"#)
        let path = await api.send("GET", "/v1/nothing", key: nil)
        #expect(path.status == 404)
        #expect(path.text == #"{"detail":"There is no such route."}"#)
        let notification = await api.send("GET", "/v1/live_notifications/x/nothing", key: nil)
        #expect(notification.status == 404)
        #expect(notification.text == #"{"meta":{"error":"There is no such route."}}"#)
        let method = await api.send("PUT", "/v1/live-activities/start-tokens", key: nil)
        #expect(method.status == 405)
        #expect(method.headers["allow"] == "POST, DELETE")
        #expect(method.text == #"{"detail":"This route takes POST, DELETE."}"#)
    }
}
