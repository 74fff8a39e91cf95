import Gateway
import HTTP
import Networking
import Observability

extension PushPool {
    /// Fills streams at the end of the loop's turn, so that one flush carries all that the turn brought.
    func scheduleFill() {
        guard !isFillScheduled else { return }
        isFillScheduled = true
        loop.afterTurn { self.assumeIsolated { $0.fill() } }
    }

    /// Fills streams a little later, unless it happens earlier anyway.
    func scheduleFill(after delay: Duration) {
        guard !isFillScheduled, fillTimer == nil else { return }
        fillTimer = loop.schedule(after: delay) {
            self.assumeIsolated { pool in
                pool.fillTimer = nil
                pool.fill()
            }
        }
    }

    /// Puts waiting pushes on free streams, sends everything, and opens a connection when that is due.
    func fill() {
        isFillScheduled = false
        if let timer = fillTimer {
            loop.cancel(timer)
            fillTimer = nil
        }
        let now = ContinuousClock.now
        endCancelled()
        lanes.removeFinished()
        if isDraining {
            lanes.forEach { $0.completeWaiting(.notSent) }
            lanes.removeFinished()
        }
        if isDraining || lanes.waitingCount == 0 || !submitAdmitted(now: now) {
            for connection in connections { visit(connection, now: now) { _ throws(ConnectionFailure) in } }
        }
        lanes.removeFinished()
        endPauses(of: now)
        if isDraining { endDrainIfDone() } else { connectIfNeeded(now: now) }
        armTick()
    }

    /// Takes a connection's answers, lets `body` submit to it and sends what it has. One connection after the other: a stream that
    /// became free carries a push again before the next connection is looked at.
    private func visit(
        _ connection: APNsConnection, now: ContinuousClock.Instant,
        _ body: (APNsConnection) throws(ConnectionFailure) -> Void
    ) {
        do throws(ConnectionFailure) {
            if connection.isPaused {
                try connection.readPaused(now: now)
                settle(connection, now: now)
            }
            try body(connection)
            guard connection.needsFlush else { return }
            try connection.flush()
            // Sending a reset ends its stream.
            settle(connection, now: now)
            if connection.life.phase == .draining, connection.inFlightCount == 0 { finish(connection, now: now) }
        } catch {
            lose(connection, error, now: now)
        }
    }

    /// While pushes wait for streams, busy connections are looked at by the timer: answers one by one would make small TLS records.
    /// The interval counts from the start of a turn, so that a turn that takes longer is followed by the next at once.
    private func endPauses(of turn: ContinuousClock.Instant) {
        var isPacing = false
        for connection in connections where connection.isPaused {
            if lanes.waitingCount > 0, connection.life.phase == .open, connection.inFlightCount > 0 {
                isPacing = true
            } else {
                connection.resume()
            }
        }
        if isPacing { scheduleFill(after: max(.zero, configuration.fillInterval - (ContinuousClock.now - turn))) }
    }

    /// Ends what waits of batches that were cancelled or whose app is held back.
    func endCancelled() {
        let now = ContinuousClock.now
        lanes.forEach { lane in
            if lane.batch.cancellation.isCancelled {
                lane.completeWaiting(.notSent)
            } else if let reason = holds.reason(for: lane.batch.application.id, now: now) {
                lane.completeWaiting(.rejected(reason))
            }
        }
    }

    /// Visits every connection and fills its streams, as far as the provider token allows. Returns whether it visited them.
    private func submitAdmitted(now: ContinuousClock.Instant) -> Bool {
        drainSpoilt()
        // Answers that wait may free streams.
        guard connections.contains(where: { $0.isPaused || $0.submittableCount(bodyByteCount: 1, now: now) > 0 }) else {
            return false
        }
        switch minter.admit() {
        case .use(let token, let renewalIsDue):
            loggedHold = nil
            if renewalIsDue { refreshToken() }
            // The answers of one connection may tell that the next had better send nothing under the token.
            submit(under: token, limit: .max, while: { self.minter.isUsable(generation: token.generation) }, now: now)
            return true
        case .probe(let token):
            submit(under: token, limit: 1, while: { true }, now: now)
            return true
        case .needsToken: refreshToken()
        case .held(let reason, let delay):
            noticeHold(reason)
            let milliseconds = max(Int64(delay / .milliseconds(1)), 1_000)
            lanes.forEach { $0.completeWaiting(.deferred(reason, delayMilliseconds: milliseconds)) }
        }
        return false
    }

    /// Keeps newer tokens off the connections that were used under one which APNs called expired, be it in another pool: the answers that
    /// say so may still be on their way, and where APNs has refused a token, it goes on refusing newer ones.
    private func drainSpoilt() {
        let newest = minter.spoiltGeneration
        for connection in connections where connection.tokens.isSpoilt(by: newest) { connection.life.drain() }
    }

    /// Says once why pushes wait; a refusal of APNs was logged when it came.
    private func noticeHold(_ reason: DeliveryReason) {
        defer { loggedHold = reason }
        guard loggedHold != reason, reason == .credentialsRefused else { return }
        logger.log(
            .error, "no provider token can be had: pushes wait; check the database, the stored signing key and the master key",
            tokenFields(reason: reason.name))
    }

    private func refreshToken() {
        guard !isRefreshingToken else { return }
        isRefreshingToken = true
        Task {
            await minter.refresh()
            isRefreshingToken = false
            scheduleFill()
        }
    }

    private func submit(under token: IssuedToken, limit: Int, while isUsable: () -> Bool, now: ContinuousClock.Instant) {
        var remaining = limit
        var (freeCount, busyCount) = (0, 0)
        for connection in connections {
            visit(connection, now: now) { (connection) throws(ConnectionFailure) in
                guard isUsable() else { return }
                freeCount += connection.submittableCount(bodyByteCount: 1, now: now)
                busyCount += connection.inFlightCount
                try submit(on: connection, under: token, remaining: &remaining, now: now)
            }
        }
        if lanes.waitingCount > 0 { growth.filled(freeCount: freeCount, busyCount: busyCount) }
    }

    /// Fills a connection's streams, batch after batch, and sends whenever a good piece of output is together.
    private func submit(
        on connection: APNsConnection, under token: IssuedToken, remaining: inout Int, now: ContinuousClock.Instant
    ) throws(ConnectionFailure) {
        while remaining > 0, connection.submittableCount(bodyByteCount: 1, now: now) > 0, let lane = lanes.next() {
            let count = try submitTurn(of: lane, on: connection, under: token, limit: remaining, now: now)
            remaining -= count
            if connection.isOutputFull {
                try connection.flush()
            } else if count == 0, lane.waitingCount > 0 {
                return
            }
        }
    }

    /// Lets a batch use some streams of a connection; returns how many.
    private func submitTurn(
        of lane: BatchLane, on connection: APNsConnection, under token: IssuedToken, limit: Int, now: ContinuousClock.Instant
    ) throws(ConnectionFailure) -> Int {
        if lane.batch.cancellation.isCancelled {
            lane.completeWaiting(.notSent)
            return 0
        }
        let template = lane.template(for: token, authority: endpoint.authority)
        let room = connection.submittableCount(bodyByteCount: lane.bodyByteCount, now: now)
        var count = 0
        while count < min(limit, room, LaneRing.turnCount), !connection.isOutputFull, let index = lane.takeNext() {
            var isSubmitted = false
            // What was not submitted, whatever the reason, has not left.
            defer { if !isSubmitted { lane.putBack(index) } }
            lane.marks?.submitted(index)
            isSubmitted = try connection.submit(
                index, of: lane, template: template, tokenGeneration: token.generation, now: now)
            guard isSubmitted else {
                connection.life.drain()
                break
            }
            count += 1
        }
        if count > 0 {
            connection.needsFlush = true
            connection.tokens.used(token.generation)
        }
        return count
    }
}
