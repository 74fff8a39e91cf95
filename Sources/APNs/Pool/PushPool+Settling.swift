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
        var good = GoodAnswers()
        // Answers come in runs of one batch; it is looked up once a run.
        var lane: BatchLane?
        for index in 0..<count {
            let end = session.closed(index)
            guard let push = connection.take(slot: end.slot) else { continue }
            let owner: BatchLane
            if let lane, lane.number == push.lane {
                owner = lane
            } else {
                if let lane { noticeAccepted(good, of: lane, on: connection, now: now) }
                good.hasAccepted = false
                owner = lanes.lane(push.lane)
                lane = owner
            }
            if end.status == 200 {
                good.acceptedCount += 1
                good.hasAccepted = true
                good.prove(push.tokenGeneration)
                owner.complete(Int(push.index), .accepted)
            } else {
                // Refusals count in a row: what was accepted comes between those of one read, which have bodies and therefore end last.
                noticeAccepted(good, of: owner, on: connection, now: now)
                settle(end, of: push, in: owner, on: connection, &good, now: now)
            }
        }
        session.clearEvents()
        if let lane { noticeAccepted(good, of: lane, on: connection, now: now) }
        noticeProven(good)
        if good.acceptedCount > 0 { metrics.accepted.add(good.acceptedCount) }
    }

    /// Notices it if pushes of a batch were accepted.
    private func noticeAccepted(
        _ good: GoodAnswers, of lane: BatchLane, on connection: APNsConnection, now: ContinuousClock.Instant
    ) {
        guard good.hasAccepted else { return }
        noticeAnswer(on: connection, now: now)
        holds.accepted(application: lane.batch.application.id)
    }

    /// Notices it if answers show that APNs took the provider token.
    private func noticeProven(_ good: GoodAnswers) {
        guard good.provenGeneration > 0, minter.accepted(generation: good.provenGeneration) else { return }
        logger.log(.info, "APNs accepts the provider token again", tokenFields(reason: "accepted"))
    }

    /// Settles a push that APNs did not accept.
    private func settle(
        _ end: HTTP2ClosedStream, of push: PushInFlight, in lane: BatchLane, on connection: APNsConnection,
        _ good: inout GoodAnswers, now: ContinuousClock.Instant
    ) {
        if end.status != 0 {
            let answer = end.answer.map { connection.session.answer($0) }
            let response = PushResponse(status: end.status, body: answer?.body ?? [], retryAfter: answer?.retryAfter ?? [])
            judge(response, of: push, in: lane, on: connection, &good, now: now)
        } else if end.isRefused {
            refuse(push, in: lane, on: connection, now: now)
        } else {
            metrics.unanswered.add()
            lane.complete(Int(push.index), .unknown)
        }
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

    /// Does what an answer other than 200 demands.
    private func judge(
        _ response: PushResponse, of push: PushInFlight, in lane: BatchLane, on connection: APNsConnection,
        _ good: inout GoodAnswers, now: ContinuousClock.Instant
    ) {
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
            noticeProven(good)
            refuseToken(verdict, of: push, in: lane, on: connection, now: now)
        case .countApplicationRefusal:
            lane.complete(index, verdict.outcome)
            refuseApplication(verdict, of: lane, now: now)
        }
        switch verdict.outcome {
        case .rejected, .tokenDead: if response.status != 403 { good.prove(push.tokenGeneration) }
        default: break
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
        let isAboutToken =
            verdict.consequence != .renewProviderToken || connection.tokens.calledExpired(push.tokenGeneration)
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

/// What the answers of one read say in favour of an app, a connection and a provider token: a push costs no more than a store.
private struct GoodAnswers {
    var acceptedCount = 0
    /// Whether a push of the batch that is looked at was accepted.
    var hasAccepted = false
    /// The newest token that APNs took; 0 when it took none.
    private(set) var provenGeneration = 0

    /// APNs took the token of that generation.
    mutating func prove(_ generation: Int) { provenGeneration = max(provenGeneration, generation) }
}
