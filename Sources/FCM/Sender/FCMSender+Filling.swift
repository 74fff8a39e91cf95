import Gateway
import HTTP
import Networking
import Observability

extension FCMSender {
    /// Submits at the end of the loop's turn, once for all that the turn brought.
    func scheduleFill() {
        guard !isFillScheduled else { return }
        isFillScheduled = true
        loop.afterTurn { self.assumeIsolated { $0.fill() } }
    }

    /// Submits a little later, unless it happens earlier anyway.
    private func scheduleFill(after delay: Duration) {
        guard !isFillScheduled, fillTimer == nil else { return }
        fillTimer = loop.schedule(after: delay) {
            self.assumeIsolated { sender in
                sender.fillTimer = nil
                sender.fill()
            }
        }
    }

    /// Looks at deadlines again before long, while pushes are under way.
    func armTick() {
        guard tickTimer == nil, lanes.count > 0 else { return }
        tickTimer = loop.schedule(after: configuration.tickInterval) {
            self.assumeIsolated { sender in
                sender.tickTimer = nil
                sender.handBackStuck()
                sender.fill()
            }
        }
    }

    /// Hands waiting pushes to the client, as far as accounts, quotas and its bound allow.
    private func fill() {
        isFillScheduled = false
        endWaiting()
        lanes.removeFinished()
        let now = ContinuousClock.now
        // Accounts whose turn is over for now, and when the first of them may go on.
        var resting: Set<FCMAccount> = []
        var rest: Duration?
        if let resumesAt, now < resumesAt {
            rest = resumesAt - now
        } else {
            while inFlightCount < configuration.inFlightCount, let lane = lanes.next(excluding: resting) {
                switch minters.minter(of: lane.account).admit() {
                case .use(let token, let renewalIsDue):
                    if renewalIsDue { refreshToken(of: lane.account) }
                    guard let wait = submitTurn(of: lane, under: token, now: now) else { continue }
                    resting.insert(lane.account)
                    rest = min(rest ?? wait, wait)
                case .needsToken:
                    resting.insert(lane.account)
                    refreshToken(of: lane.account)
                case .held(let reason, let delay):
                    let milliseconds = max(Int64(delay / .milliseconds(1)), 1_000)
                    lane.completeWaiting(.deferred(reason, delayMilliseconds: milliseconds))
                }
            }
        }
        lanes.removeFinished()
        if let rest { scheduleFill(after: rest) }
        armTick()
    }

    /// Ends what waits of batches that were cancelled or whose app is held back.
    private func endWaiting() {
        let now = ContinuousClock.now
        for lane in lanes.all {
            if isDraining || lane.batch.cancellation.isCancelled {
                lane.completeWaiting(.notSent)
            } else if let reason = holds.reason(for: lane.batch.application.id, now: now) {
                lane.completeWaiting(.rejected(reason))
            }
        }
    }

    /// Hands back what waits for long without any answer of FCM, so that it is not kept from others.
    private func handBackStuck() {
        let delay = FCMResponseClass.serverErrorDelayMilliseconds
        for lane in lanes.all {
            let since = max(lane.enqueuedAt, lastAnswerAt ?? lane.enqueuedAt)
            guard ContinuousClock.now - since >= configuration.connectionWait else { continue }
            lane.completeWaiting(.deferred(.connectionFailed, delayMilliseconds: delay))
        }
    }

    /// Lets a batch use some of the client. Returns how long its project rests, nil when it need not.
    private func submitTurn(of lane: FCMLane, under token: IssuedAccessToken, now: ContinuousClock.Instant) -> Duration? {
        let project = lane.account.projectID
        var pace = paces[project] ?? MessagePace(perSecond: configuration.messagesPerSecond, now: now)
        defer { paces[project] = pace }
        let allowance = pace.allowance(now: now)
        guard allowance > 0 else { return pace.wait }
        let limit = min(allowance, FCMLaneRing.turnCount, configuration.inFlightCount - inFlightCount)
        let wallSeconds = clock.wallSeconds()
        let fields = [
            HTTP2Field("authorization", "Bearer " + token.value.token), HTTP2Field("content-type", "application/json"),
        ]
        var count = 0
        while count < limit, let index = lane.takeNext() {
            let range = lane.batch.tokens.range(index)
            let body = lane.batch.bodies[Int(lane.batch.bodyIndexes[index])]
            guard let bytes = lane.message.bytes(token: lane.batch.tokens.bytes[range], body: body, wallSeconds: wallSeconds)
            else {
                lane.complete(index, .rejected(.fcmInvalidArgument))
                continue
            }
            submit(bytes, fields, index, of: lane, generation: token.generation)
            count += 1
        }
        pace.took(count)
        return nil
    }

    private func submit(_ body: [UInt8], _ fields: [HTTP2Field], _ index: Int, of lane: FCMLane, generation: Int) {
        let number = lane.number
        let request = HTTPClientRequest(
            method: "POST", path: lane.path, fields: fields, body: body,
            mayLeave: { self.assumeIsolated { $0.mayLeave(index, ofLane: number) } })
        inFlightCount += 1
        let timeout = configuration.messageTimeout
        messages.assumeIsolated { client in
            client.submit(request, timeout: timeout) { result in
                self.assumeIsolated { $0.settle(result, of: index, ofLane: number, generation: generation) }
            }
        }
    }

    /// The client is about to put a push on the wire: noted first, unless the push was cancelled meanwhile.
    private func mayLeave(_ index: Int, ofLane number: Int) -> Bool {
        guard let lane = lanes.lane(number), !lane.batch.cancellation.isCancelled, !isDraining else { return false }
        lane.batch.marks?.submitted(index)
        return true
    }

    private func refreshToken(of account: FCMAccount) {
        guard refreshing.insert(account).inserted else { return }
        let endpoint = HTTPTokenEndpoint(client: tokens, timeout: configuration.tokenTimeout)
        Task {
            note(await minters.minter(of: account).refresh(asking: endpoint), of: account)
            refreshing.remove(account)
            scheduleFill()
        }
    }

    /// Says once why pushes wait for an access token.
    private func note(_ minting: AccessTokenMinter.Minting, of account: FCMAccount) {
        let fields: [LogKey: String] = [.projectID: account.projectID, .keyID: account.keyID]
        switch minting {
        case .done:
            guard saidFailed.remove(account) != nil else { return }
            logger.log(.info, "Google gives access tokens again", fields)
        case .failedForOther: break
        case .notShared(let reason):
            logger.log(
                .warning, "an access token could not be shared with other daemons",
                fields.merging([.reason: reason]) { $1 })
        case .failed(let reason):
            metrics.tokenFailures.add()
            guard saidFailed.insert(account).inserted else { return }
            logger.log(
                .error,
                "no access token of Google's can be had: pushes wait; check the service account, this host's clock and the way to Google",
                fields.merging([.reason: reason]) { $1 })
        }
    }
}
