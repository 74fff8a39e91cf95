import Gateway
import Networking
import Observability

extension PushPool {
    /// Looks at deadlines again before long: soon while pushes are under way, seldom while connections only idle.
    func armTick() {
        let isIdle = lanes.count == 0 && connectTask == nil && connections.allSatisfy { $0.life.phase == .open }
        if let timer = tickTimer {
            guard timer.isIdle, !isIdle else { return }
            loop.cancel(timer.id)
            tickTimer = nil
        }
        guard !isIdle || !connections.isEmpty else { return }
        let interval = isIdle ? min(configuration.pingInterval, configuration.pingTimeout) / 4 : configuration.tickInterval
        let timer = loop.schedule(after: interval) {
            self.assumeIsolated { pool in
                pool.tickTimer = nil
                pool.tick()
            }
        }
        tickTimer = (timer, isIdle)
    }

    private func tick() {
        let now = ContinuousClock.now
        for connection in connections { tick(connection, now: now) }
        if let connectTask, now - connectTask.startedAt >= configuration.connectTimeout { connectTask.task.cancel() }
        handBackStuck(now: now)
        // Also ends cancelled batches, sends PINGs and resets, connects, and arms the next tick.
        fill()
    }

    private func tick(_ connection: APNsConnection, now: ContinuousClock.Instant) {
        var wasSilent = false
        connection.giveUp(submittedBefore: now - configuration.answerTimeout) { push in
            if connection.life.isSilent(since: push.submittedAt) { wasSilent = true }
            metrics.unanswered.add()
            lanes.lane(push.lane).complete(Int(push.index), .unknown)
        }
        // Nothing at all since then: the path is likely dead, and new pushes had better go elsewhere.
        if wasSilent { connection.life.drain() }
        switch connection.life.tick(
            now: now, openStreamCount: connection.inFlightCount, streamLimit: connection.streamLimit)
        {
        case .nothing: break
        case .ping: connection.ping()
        case .finish: finish(connection, now: now)
        case .giveUp(let reason): lose(connection, .silent(reason), now: now)
        }
    }

    /// Hands back what waits for long while APNs takes nothing, so that it is not kept from others.
    ///
    /// While no connection takes pushes, one batch of each app waits for one to come: what else its worker holds would only keep
    /// other apps from being served, and is handed back soon, or at once after pushes were handed back before.
    private func handBackStuck(now: ContinuousClock.Instant) {
        let outcome = PushOutcome.deferred(
            lastTurnedAway ?? .connectionFailed, delayMilliseconds: Int64(configuration.longestBackOff / .milliseconds(1)))
        let isCutOff = !connections.contains { $0.life.phase == .open }
        let companionWait = isDown ? .zero : configuration.companionWait
        lanes.forEachWaiting { lane, isFirst in
            let since = max(lane.enqueuedAt, lastAnswerAt ?? lane.enqueuedAt)
            let wait = isCutOff && !isFirst ? companionWait : configuration.connectionWait
            guard now - since >= min(wait, configuration.connectionWait) else { return }
            lane.completeWaiting(outcome)
            isDown = true
        }
    }
}
