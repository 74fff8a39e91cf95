import Networking
import Security

extension HTTPClient {
    /// Serves at the end of the loop's turn, so that one flush carries all that the turn brought.
    func scheduleServing() {
        guard !isServeScheduled else { return }
        isServeScheduled = true
        loop.afterTurn { self.assumeIsolated { $0.serve() } }
    }

    /// Puts waiting calls on free streams, sends everything, connects when that is due, and tells what ended.
    private func serve() {
        isServeScheduled = false
        let now = ContinuousClock.now
        for connection in connections { serve(connection, now: now) }
        connectIfNeeded(now: now)
        tellEnded()
        if isDraining, inFlightCount == 0, !drainWaiters.isEmpty { endDrain() }
        armTick()
    }

    private func serve(_ connection: HTTPClientConnection, now: ContinuousClock.Instant) {
        do throws(HTTPClientFailure) {
            while connection.canSubmit, let call = waiting.popFirst() {
                if call.deadline <= now {
                    ended.append((call, .notSent(.timeout)))
                } else if let mayLeave = call.request.mayLeave, !mayLeave() {
                    ended.append((call, .notSent(.withdrawn)))
                } else if !connection.submit(call, now: now) {
                    ended.append((call, .notSent(.refused)))
                }
            }
            try connection.flush()
            // Sending a reset ends its stream.
            settle(connection, now: now)
            if case .close = connection.tick(now: now) { close(connection, now: now) }
        } catch {
            lose(connection, error, now: now)
        }
    }

    /// Something happened on the socket of a connection.
    func ready(_ number: Int, _ readiness: Readiness) {
        guard let connection = connections.first(where: { $0.number == number }) else { return }
        let now = ContinuousClock.now
        let wasConnecting = connection.phase == .connecting
        do throws(HTTPClientFailure) {
            try connection.process(readiness, now: now)
            if wasConnecting, connection.phase == .open {
                lastFailure = nil
                report(.connectionOpened(address: connection.address.description))
            }
            settle(connection, now: now)
        } catch {
            lose(connection, error, now: now)
        }
        scheduleServing()
    }

    /// Takes the calls of a connection that ended.
    private func settle(_ connection: HTTPClientConnection, now: ContinuousClock.Instant) {
        let ends = connection.takeEnds(now: now)
        guard !ends.isEmpty else { return }
        if connection.hasAnswered { pause.forget() }
        ended += ends
        scheduleServing()
    }

    /// Ends a connection that failed.
    private func lose(_ connection: HTTPClientConnection, _ failure: HTTPClientFailure, now: ContinuousClock.Instant) {
        // Answers that came before the end count.
        settle(connection, now: now)
        let wasConnecting = connection.phase == .connecting
        let lost = connection.close(failure)
        ended += lost
        let unansweredCount = lost.count { if case .unanswered = $0.1 { true } else { false } }
        connections.removeAll { $0 === connection }
        if wasConnecting { lastFailure = failure }
        if !connection.hasAnswered { countFailure(now: now) }
        report(.connectionFailed(address: connection.address.description, failure, unansweredCount: unansweredCount))
        scheduleServing()
    }

    /// Ends a connection in order.
    private func close(_ connection: HTTPClientConnection, now: ContinuousClock.Instant) {
        let goAway = connection.session.goAway
        ended += connection.close(.connectionLost("closed in order"))
        connections.removeAll { $0 === connection }
        // A server that sends everybody away is not asked again at once.
        if goAway != nil, !connection.hasAnswered { countFailure(now: now) }
        report(.connectionClosed(address: connection.address.description, goAway: goAway))
        scheduleServing()
    }

    // MARK: Time

    /// Looks at deadlines again before long: soon while requests are under way, seldom while connections only idle.
    private func armTick() {
        let isIdle = waiting.isEmpty && connectTask == nil && connections.allSatisfy { $0.phase == .open && $0.calls.isEmpty }
        if let timer = tickTimer {
            guard timer.isIdle, !isIdle else { return }
            loop.cancel(timer.id)
            tickTimer = nil
        }
        guard !isIdle || !connections.isEmpty else { return }
        let interval = isIdle ? configuration.idleTimeout / 4 : configuration.tickInterval
        let timer = loop.schedule(after: interval) {
            self.assumeIsolated { client in
                client.tickTimer = nil
                client.tick()
            }
        }
        tickTimer = (timer, isIdle)
    }

    private func tick() {
        let now = ContinuousClock.now
        for call in waiting.takeOverdue(now: now) { ended.append((call, .notSent(waitingFailure))) }
        for connection in connections {
            ended += connection.takeOverdue(now: now)
            switch connection.tick(now: now) {
            case .nothing: break
            case .close: close(connection, now: now)
            case .giveUp(let failure): lose(connection, failure, now: now)
            }
        }
        if let connectTask, now - connectTask.startedAt >= configuration.connectTimeout { connectTask.task.cancel() }
        serve()
    }

    /// Why a call waited in vain.
    var waitingFailure: HTTPClientFailure {
        guard !connections.contains(where: { $0.phase == .open }) else { return .noFreeStream }
        if case .certificateRejected = lastFailure, let lastFailure { return lastFailure }
        return .noConnection(lastFailure.map(\.description) ?? "none was ready in time")
    }

    // MARK: Connecting

    /// Opens a connection when calls wait and it is time for one.
    private func connectIfNeeded(now: ContinuousClock.Instant) {
        guard !waiting.isEmpty, !isDraining, connectTask == nil, pause.isOver(at: now),
            !connections.contains(where: { $0.phase == .connecting })
        else { return }
        let open = connections.filter { $0.phase == .open }
        if !open.isEmpty {
            // Another one helps only where the server answers, and all its streams are taken.
            guard open.count < configuration.connectionCount, open.allSatisfy({ $0.hasAnswered && !$0.canSubmit }) else { return }
            guard lastAttempt.map({ now - $0 >= configuration.connectionSpacing }) ?? true else { return }
        }
        lastAttempt = now
        connectTask = (Task { await connect() }, now)
    }

    private func connect() async {
        do {
            // A fresh look-up for each connection: addresses change, and the failed one may not be among them any more.
            let addresses = try await Resolver.resolve(host: origin.host, port: origin.port)
            connectTask = nil
            guard !isDraining else { return }
            addressCount = addresses.count
            addressTurn += 1
            try open(to: addresses[addressTurn % addresses.count])
        } catch {
            connectTask = nil
            lastFailure = .connectionLost("\(error)")
            countFailure(now: .now)
            report(.connectionFailed(address: origin.host, .noConnection("\(error)"), unansweredCount: 0))
        }
        scheduleServing()
    }

    private func open(to address: SocketAddress) throws {
        let session = try TLSSession(client: tls, host: origin.host)
        let stream = try SocketStream.connect(to: address, loop: loop, tls: session)
        lastConnectionNumber += 1
        let connection = try HTTPClientConnection(
            number: lastConnectionNumber, address: address, stream: stream, authority: origin.authority,
            configuration: configuration, now: .now)
        try connection.activate(handler: HTTPClientReadiness(client: self, number: lastConnectionNumber))
        connections.append(connection)
    }

    private func countFailure(now: ContinuousClock.Instant) {
        let wasQuick = lastAttempt.map { now - $0 < .seconds(1) } ?? false
        pause.failed(at: now, addressCount: addressCount, wasQuick: wasQuick, jitter: .random(in: 0..<1))
    }
}

/// Passes readiness on to the client. The loop holds it until the connection is closed.
final class HTTPClientReadiness: ReadinessHandler {
    private let client: HTTPClient
    private let number: Int

    init(client: HTTPClient, number: Int) {
        self.client = client
        self.number = number
    }

    func ready(_ readiness: Readiness) {
        client.assumeIsolated { $0.ready(number, readiness) }
    }
}
