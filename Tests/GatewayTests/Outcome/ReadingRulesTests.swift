import Testing

@testable import Gateway

@Suite("What dashboards read") struct ReadingRulesTests {
    @Test(
        "tells the share of accepted pushes that were tapped, to four digits, and none of none",
        arguments: [(3, 1, 0.3333), (4, 1, 0.25), (1, 1, 1), (7, 0, 0), (30_000, 1, 0), (0, 0, nil)] as [(Int64, Int64, Double?)])
    func clickThrough(accepted: Int64, clicked: Int64, share: Double?) {
        let row = StatisticsRow(
            key: nil, notificationCount: 1, targetedCount: accepted, acceptedCount: accepted, failedCount: 0, unknownCount: 0,
            clickCount: 9, clickedDeviceCount: clicked)
        #expect(row.clickThrough == share)
    }

    @Test("counts a device that matches as reachable in one environment or through FCM, or as one without a token for one reason")
    func preview() {
        let preview = AudiencePreview(
            matchedCount: 23, productionCount: 6, sandboxCount: 1, androidCount: 2, relayedCount: 1, wrongEnvironmentCount: 1,
            removedCount: 2, disabledCount: 3, unknownEntryCount: 4)
        #expect(preview.reachableCount == 10 && preview.tokenlessCount == 7)
    }

    @Test("names a push by a UUID of version 8 that differs by notification and by device")
    func identifiers() {
        let first = UUID.ofPush(notification: NotificationID(rawValue: 0x0123_4567_89AB_CDEF), device: 42)
        #expect("\(first)" == "12345678-9abc-8def-8000-00000000002a")
        #expect(first != UUID.ofPush(notification: NotificationID(rawValue: 0x0123_4567_89AB_CDEF), device: 43))
        #expect(first != UUID.ofPush(notification: NotificationID(rawValue: 0x0123_4567_89AB_CDEE), device: 42))
    }
}
