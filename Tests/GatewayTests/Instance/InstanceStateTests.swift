import Testing

@testable import Gateway

@Suite("State of a live notification") struct InstanceStateTests {
    @Test(
        "is active until it fails, ends or expires, in this order",
        arguments: [
            (nil, nil, 100, 99, .active), (nil, nil, 100, 100, .expired), (nil, nil, 100, 101, .expired),
            (nil, 50, 100, 99, .ended), (nil, 50, 100, 200, .ended), ("no eligible device", nil, 100, 99, .failed),
            ("no eligible device", 50, 100, 200, .failed),
        ] as [(String?, Int64?, Int64, Int64, InstanceState)])
    func states(failure: String?, endedAt: Int64?, expiresAt: Int64, now: Int64, state: InstanceState) {
        #expect(InstanceState(failure: failure, endedAt: endedAt, expiresAt: expiresAt, now: now) == state)
    }

    @Test(
        "of a delivery follows from the totals of its fan-out",
        arguments: [
            (0, 0, 0, false, .queued), (3, 0, 0, false, .queued), (3, 1, 0, false, .sent), (3, 1, 0, true, .sent),
            (3, 0, 2, false, .queued), (3, 0, 2, true, .sent), (3, 0, 0, true, .failed), (0, 0, 0, true, .undeliverable),
            // A device's token came late: it was targeted by nobody and accepted.
            (0, 1, 0, true, .sent),
        ] as [(Int64, Int64, Int64, Bool, InstanceDeliveryStatus)])
    func deliveries(targeted: Int64, accepted: Int64, unknown: Int64, isFinished: Bool, status: InstanceDeliveryStatus) {
        #expect(
            InstanceDeliveryStatus(
                targetedCount: targeted, acceptedCount: accepted, unknownCount: unknown, isFinished: isFinished) == status)
    }
}
