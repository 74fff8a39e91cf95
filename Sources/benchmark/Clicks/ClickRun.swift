import Gateway
import Networking
import PostgreSQL
import Security
import Synchronization

/// One measurement: an activity of its own that every device got, and taps on it from many callers at once.
struct ClickRun {
    /// Taken from one tap to the next; a prime, so that callers do not meet the devices in their order.
    private static let stride = 7_919

    let database: BenchmarkDatabase
    let options: ClickOptions
    let activityID: String
    let counter: any TapCounter

    func measure(on loop: EventLoop, into figures: inout TapFigures) async throws {
        try await database.deliver(activityID: activityID)
        try await database.settle()
        let serverBefore = try database.cluster.cpuSeconds()
        let logBefore = try await database.writtenLogBytes()
        let before = ProcessCost.now()
        try await tap(on: loop)
        let after = ProcessCost.now()
        let taps = Double(options.tapCount)
        let logBytes = try await database.writtenLogBytes() - logBefore
        let server = try database.cluster.cpuSeconds() - serverBefore
        figures.tapsPerSecond.add(taps / (before.instant.duration(to: after.instant) / .seconds(1)))
        figures.cpuMicrosecondsPerTap.add((after.cpuSeconds - before.cpuSeconds) * 1e6 / taps)
        figures.databaseMicrosecondsPerTap.add(server * 1e6 / taps)
        figures.logBytesPerTap.add(logBytes / taps)
        let counted = try await database.taps(activityID: activityID)
        let tappingDevices = min(options.tapCount, options.deviceCount)
        guard counted.taps == options.tapCount, counted.devices == tappingDevices else {
            throw Failure(
                """
                \(counted.taps) taps of \(counted.devices) devices were counted instead of \(options.tapCount) of \
                \(tappingDevices)
                """)
        }
    }

    /// The callers share one row of taps; each tells the next as soon as its last was answered.
    private func tap(on loop: EventLoop) async throws {
        let taps = NextTap()
        let counter = counter
        let application = database.application.id
        let (tapCount, deviceCount, activityID) = (options.tapCount, options.deviceCount, activityID)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<options.clientCount {
                group.addTask {
                    while true {
                        let number = taps.take()
                        guard number < tapCount else { return }
                        let result = try await counter.count(
                            Tap(
                                application: application, device: .pushToken(Self.pushToken(number, of: deviceCount)),
                                activityID: activityID, notification: nil))
                        guard case .counted = result else { throw Failure("tap \(number) was not counted: \(result)") }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// As SQL/devices.sql makes it of a device's number, which begins with 1.
    private static func pushToken(_ tap: Int, of deviceCount: Int) -> [UInt8] {
        // One of the two is a prime, and so every device comes once before any comes twice, unless it divides the other.
        let step = deviceCount % stride == 0 ? 1 : stride
        let device = UInt64(tap * step % deviceCount + 1)
        return SHA256.digest((0..<8).map { UInt8(truncatingIfNeeded: device >> (56 - 8 * UInt64($0))) })
    }
}

/// Hands out the numbers of taps.
private final class NextTap: Sendable {
    private let next = Atomic(0)
    func take() -> Int { next.wrappingAdd(1, ordering: .relaxed).oldValue }
}
