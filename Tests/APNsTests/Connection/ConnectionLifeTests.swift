import Testing

@testable import APNs

@Suite("Connection life") struct ConnectionLifeTests {
    private let start = ContinuousClock.now
    private func life() -> ConnectionLife { ConnectionLife(configuration: APNsConfiguration(), now: start) }

    @Test("ends when SETTINGS do not come within 10 s")
    func connecting() {
        var life = life()
        #expect(life.tick(now: start + .seconds(9), openStreamCount: 0, streamLimit: 100) == .nothing)
        #expect(
            life.tick(now: start + .seconds(10), openStreamCount: 0, streamLimit: 100) == .giveUp(reason: "no SETTINGS in time"))
    }

    @Test("asks once a minute of silence, and ends when nobody answers")
    func ping() {
        var life = life()
        life.settingsArrived()
        life.heard(at: start)
        var pings = 0
        for second in 1...600 {
            let now = start + .seconds(second)
            if life.tick(now: now, openStreamCount: 0, streamLimit: 100) == .ping {
                pings += 1
                life.heard(at: now + .milliseconds(20))
            }
        }
        #expect(pings == 9)
        let last = start + .seconds(700)
        #expect(life.tick(now: last, openStreamCount: 0, streamLimit: 100) == .ping)
        #expect(life.tick(now: last + .seconds(9), openStreamCount: 0, streamLimit: 100) == .nothing)
        #expect(
            life.tick(now: last + .seconds(10), openStreamCount: 0, streamLimit: 100) == .giveUp(reason: "PING was not answered"))
    }

    @Test("ends when APNs allows no stream for 10 s, none being open, whatever it answers otherwise")
    func starved() {
        var life = life()
        life.settingsArrived()
        func action(after seconds: Int, open: Int = 0, limit: Int = 0) -> ConnectionLife.Action {
            life.heard(at: start + .seconds(seconds))
            return life.tick(now: start + .seconds(seconds), openStreamCount: open, streamLimit: limit)
        }
        #expect(action(after: 0) == .nothing && action(after: 9) == .nothing)
        #expect(action(after: 10, limit: 1) == .nothing, "it may be used again")
        #expect(action(after: 11) == .nothing && action(after: 20) == .nothing)
        #expect(action(after: 21, open: 1) == .nothing, "an answer is awaited")
        #expect(action(after: 22) == .nothing && action(after: 31) == .nothing)
        #expect(action(after: 32) == .giveUp(reason: "no stream was allowed in time"))
    }

    @Test("ends after the last answer once it drains")
    func draining() {
        var life = life()
        life.settingsArrived()
        #expect(life.phase == .open)
        life.drain()
        #expect(life.tick(now: start, openStreamCount: 3, streamLimit: 100) == .nothing)
        #expect(life.tick(now: start, openStreamCount: 0, streamLimit: 100) == .finish)
        life.closed()
        life.drain()
        #expect(life.phase == .closed)
        #expect(life.tick(now: start + .seconds(100), openStreamCount: 0, streamLimit: 100) == .nothing)
    }
}

@Suite("Connection growth") struct ConnectionGrowthTests {
    private typealias Situation = ConnectionGrowth.Situation
    private let start = ContinuousClock.now

    @Test("opens the first connection for one push, and more only for more pushes than streams, a second apart")
    func need() {
        var growth = ConnectionGrowth(configuration: APNsConfiguration())
        #expect(!growth.shouldConnect(Situation(), now: start))
        #expect(growth.shouldConnect(Situation(waitingCount: 1), now: start))
        #expect(!growth.shouldConnect(Situation(waitingCount: 1, isConnecting: true), now: start))
        growth.attempted(at: start)
        growth.succeeded()
        let full = Situation(waitingCount: 1_001, openCount: 1, streamCount: 1_000)
        #expect(!growth.shouldConnect(full, now: start + .milliseconds(999)))
        #expect(growth.shouldConnect(full, now: start + .seconds(1)))
        #expect(!growth.shouldConnect(Situation(waitingCount: 1_000, openCount: 1, streamCount: 1_000), now: start + .seconds(1)))
        #expect(
            !growth.shouldConnect(
                Situation(waitingCount: 5_000, openCount: 1, streamCount: 1, hasUnproved: true), now: start + .seconds(1)))
        #expect(
            !growth.shouldConnect(Situation(waitingCount: 9_000, openCount: 4, streamCount: 4_000), now: start + .seconds(9)))
    }

    @Test("opens no other connection while most streams are free whenever it comes to fill them")
    func noNeed() {
        var growth = ConnectionGrowth(configuration: APNsConfiguration())
        growth.attempted(at: start)
        growth.succeeded()
        let full = Situation(waitingCount: 9_000, openCount: 1, streamCount: 1_000)
        let later = start + .seconds(1)
        // Answers come faster than pushes are submitted.
        for _ in 0..<8 { growth.filled(freeCount: 900, busyCount: 100) }
        #expect(!growth.shouldConnect(full, now: later))
        // Answers come slowly now: after a few times it is streams that pushes wait for.
        for _ in 0..<8 { growth.filled(freeCount: 70, busyCount: 930) }
        #expect(growth.shouldConnect(full, now: later))
        // The first connection does not depend on it, nor does a pool without any stream.
        for _ in 0..<8 { growth.filled(freeCount: 1_000, busyCount: 0) }
        growth.filled(freeCount: 0, busyCount: 0)
        #expect(growth.shouldConnect(Situation(waitingCount: 1), now: later))
    }

    @Test("pauses longer after each failure, up to 15 s, and not at all after a success")
    func backOff() {
        var growth = ConnectionGrowth(configuration: APNsConfiguration())
        var now = start
        var pauses: [Duration] = []
        for _ in 0..<10 {
            growth.attempted(at: now)
            growth.failed(at: now, addressCount: 1, jitter: 0.5)
            var pause = Duration.zero
            while !growth.shouldConnect(Situation(waitingCount: 1), now: now + pause) { pause += .milliseconds(50) }
            pauses.append(pause)
            now += pause
        }
        #expect(pauses.first == .milliseconds(250))
        #expect(pauses == pauses.sorted())
        #expect(pauses.last == .seconds(15))
        growth.succeeded()
        #expect(growth.shouldConnect(Situation(waitingCount: 1), now: now))
    }

    @Test("tries every address before it pauses")
    func addresses() {
        var growth = ConnectionGrowth(configuration: APNsConfiguration())
        for address in 1...3 {
            growth.attempted(at: start)
            growth.failed(at: start, addressCount: 3, jitter: 0)
            #expect(growth.shouldConnect(Situation(waitingCount: 1), now: start) == (address < 3))
        }
    }
}
