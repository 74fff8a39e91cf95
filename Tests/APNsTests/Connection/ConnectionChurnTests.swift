import Testing

@testable import APNs

@Suite("Connections that end") struct ConnectionChurnTests {
    private let configuration = APNsConfiguration()
    private let start = ContinuousClock.now
    private let waiting = ConnectionGrowth.Situation(waitingCount: 1)

    private func life(_ change: (inout ConnectionLife) -> Void = { _ in }) -> ConnectionLife {
        var life = ConnectionLife(configuration: configuration, now: start)
        life.settingsArrived()
        change(&life)
        return life
    }

    /// How long a pool that has pushes waits after this, in milliseconds.
    private func pause(_ growth: ConnectionGrowth, at now: ContinuousClock.Instant) -> Int {
        var milliseconds = 0
        while !growth.shouldConnect(waiting, now: now + .milliseconds(milliseconds)) { milliseconds += 1 }
        return milliseconds
    }

    @Test("cost longer and longer pauses while APNs turns every push away")
    func turnedAway() {
        var growth = ConnectionGrowth(configuration: configuration)
        var now = start
        var pauses: [Int] = []
        for _ in 0..<9 {
            growth.attempted(at: now)
            growth.ended(life { $0.turnedAway() }, at: now, addressCount: 8, jitter: 0.5)
            let pause = pause(growth, at: now)
            pauses.append(pause)
            now += .milliseconds(pause)
        }
        #expect(pauses == [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000])
    }

    @Test("cost one pause when they end together, and none when APNs took pushes on them, however short their lives were")
    func useful() {
        var growth = ConnectionGrowth(configuration: configuration)
        growth.ended(life { $0.turnedAway() }, at: start, addressCount: 1, jitter: 0.5)
        growth.ended(life { $0.turnedAway() }, at: start, addressCount: 1, jitter: 0.5)
        #expect(pause(growth, at: start) == 250)
        for _ in 0..<3 {
            growth.ended(life { $0.answered() }, at: start, addressCount: 1, jitter: 0)
            #expect(growth.shouldConnect(waiting, now: start))
        }
        // One that never was of use counts, however long it lived.
        growth.ended(life(), at: start + .seconds(60), addressCount: 1, jitter: 0)
        #expect(!growth.shouldConnect(waiting, now: start + .seconds(60)))
    }
}
