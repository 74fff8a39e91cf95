import Gateway
import Glibc
import HTTP
import Observability

extension PushPool {
    /// How long a connection rests after APNs refused a stream on it without a GOAWAY.
    static let refusalRest = Duration.milliseconds(100)

    /// Gives each push whose stream ended its outcome, or its next try.
    func settle(_ connection: APNsConnection, now: ContinuousClock.Instant) {
        let session = connection.session
        let count = session.closedCount
        guard count > 0 else { return }
        var acceptedCount = 0
        var provenGeneration: Int?
        // Answers come in runs of one batch; it is looked up once a run.
        var lane: BatchLane?
        for index in 0..<count {
            let end = session.closed(index)
            guard let push = connection.take(slot: end.slot) else { continue }
            let owner: BatchLane
            if let lane, lane.number == push.lane {
                owner = lane
            } else {
                owner = lanes.lane(push.lane)
                lane = owner
                if end.status == 200 { holds.accepted(application: owner.batch.application.id) }
            }
            if end.status == 200 {
                acceptedCount += 1
                provenGeneration = push.tokenGeneration
                owner.complete(Int(push.index), .accepted)
            } else if settle(end, of: push, in: owner, on: connection, now: now) {
                provenGeneration = push.tokenGeneration
            }
        }
        session.clearEvents()
        if acceptedCount > 0 {
            noticeAnswer(on: connection, now: now)
            metrics.accepted.add(acceptedCount)
        }
        if let provenGeneration, minter.accepted(generation: provenGeneration) {
            logger.log(.info, "APNs accepts the provider token again", tokenFields(reason: "accepted"))
        }
    }

    /// Settles a push that APNs did not accept. Returns whether the answer shows that APNs took the provider token.
    private func settle(
        _ end: HTTP2ClosedStream, of push: PushInFlight, in lane: BatchLane, on connection: APNsConnection,
        now: ContinuousClock.Instant
    ) -> Bool {
        if end.status != 0 {
            let answer = end.answer.map { connection.session.answer($0) }
            let response = PushResponse(status: end.status, body: answer?.body ?? [], retryAfter: answer?.retryAfter ?? [])
            return judge(response, of: push, in: lane, on: connection, now: now)
        } else if end.isRefused {
            refuse(push, in: lane, on: connection, now: now)
        } else {
            metrics.unanswered.add()
            lane.complete(Int(push.index), .unknown)
        }
        return false
    }

    /// APNs did not process the push: it goes out again, elsewhere when the connection keeps refusing.
    private func refuse(
        _ push: PushInFlight, in lane: BatchLane, on connection: APNsConnection, now: ContinuousClock.Instant
    ) {
        lane.putBack(Int(push.index))
        guard connection.life.phase == .open else { return }
        connection.refusedInARow += 1
        connection.resumesAt = now + Self.refusalRest
        if connection.refusedInARow >= APNsConnection.refusedInARowLimit { connection.life.drain() }
    }

    /// Does what an answer other than 200 demands. Returns whether it shows that APNs took the provider token.
    private func judge(
        _ response: PushResponse, of push: PushInFlight, in lane: BatchLane, on connection: APNsConnection,
        now: ContinuousClock.Instant
    ) -> Bool {
        metrics.refused.add()
        let verdict = ResponseClass.verdict(on: response, wallSeconds: Int64(time(nil)))
        let index = Int(push.index)
        if let reason = verdict.turnedAway {
            connection.life.turnedAway()
            connection.refusedInARow = 0
            trust.verified(environment)
            lastTurnedAway = reason
        } else {
            noticeAnswer(on: connection, now: now)
        }
        switch verdict.consequence {
        case .nothing: lane.complete(index, verdict.outcome)
        case .replaceConnection:
            replace(connection, now: now)
            lane.complete(index, verdict.outcome)
        case .resendElsewhere:
            replace(connection, now: now)
            if !lane.putBackOnce(index) { lane.complete(index, verdict.outcome) }
        case .renewProviderToken, .countTokenRefusal, .holdProviderToken:
            refuseToken(verdict, of: push, in: lane, on: connection, now: now)
        case .countApplicationRefusal:
            lane.complete(index, verdict.outcome)
            refuseApplication(verdict, of: lane, now: now)
        }
        switch verdict.outcome {
        case .rejected, .tokenDead: return response.status != 403
        default: return false
        }
    }

    /// APNs is there and takes pushes, or judges them.
    private func noticeAnswer(on connection: APNsConnection, now: ContinuousClock.Instant) {
        lastAnswerAt = now
        lastTurnedAway = nil
        isDown = false
        trust.verified(environment)
        connection.refusedInARow = 0
        guard !connection.life.hasAnswered else { return }
        connection.life.answered()
        growth.succeeded()
    }

    private func refuseToken(
        _ verdict: Verdict, of push: PushInFlight, in lane: BatchLane, on connection: APNsConnection, now: ContinuousClock.Instant
    ) {
        let index = Int(push.index)
        guard case .deferred(let reason, _) = verdict.outcome else { return }
        if verdict.consequence != .countTokenRefusal { replace(connection, now: now) }
        var isAboutToken = true
        if verdict.consequence == .renewProviderToken {
            // Once a token was refused, APNs goes on refusing newer ones on the same connection, whatever they are worth.
            let oldest = min(connection.expiredGeneration ?? push.tokenGeneration, push.tokenGeneration)
            connection.expiredGeneration = oldest
            isAboutToken = oldest == push.tokenGeneration
        }
        switch isAboutToken ? minter.refused(reason, generation: push.tokenGeneration) : .resend {
        case .resend:
            if !lane.putBackOnce(index) { lane.complete(index, verdict.outcome) }
        case .wait(let opensCircuit):
            lane.complete(index, verdict.outcome)
            if opensCircuit {
                logger.log(
                    .error, "APNs refuses the provider token: pushes wait; check the key, the team and this host's clock",
                    tokenFields(reason: reason.name))
            }
        }
    }

    private func refuseApplication(_ verdict: Verdict, of lane: BatchLane, now: ContinuousClock.Instant) {
        guard case .rejected(let reason) = verdict.outcome else { return }
        guard holds.refused(reason, application: lane.batch.application.id, now: now) else { return }
        endCancelled()
        metrics.applicationHolds.add()
        logger.log(
            .error, "APNs refuses the app's set-up: its pushes are rejected for a while",
            [
                .appID: lane.batch.application.publicID.description, .reason: reason.name,
                .topic: PushTemplate.topic(of: lane.batch.application), .environment: environment.name,
            ])
    }

    func tokenFields(reason: String) -> [LogKey: String] {
        [.teamID: minter.key.teamID, .keyID: minter.key.keyID, .environment: environment.name, .reason: reason]
    }
}
