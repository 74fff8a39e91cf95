import Gateway
import HTTP
import Networking
import Observability

extension FCMSender {
    /// Gives a push its outcome, or its next try.
    func settle(_ result: HTTPClientResult, of index: Int, ofLane number: Int, generation: Int) {
        inFlightCount -= 1
        scheduleFill()
        guard let lane = lanes.lane(number) else { preconditionFailure("a push outlived its batch") }
        switch result {
        case .response(let response): judge(response, of: index, in: lane, generation: generation)
        case .unanswered:
            metrics.unanswered.add()
            lane.complete(index, .unknown)
        case .notSent(let failure): putBack(index, in: lane, failure)
        }
    }

    /// FCM did not process the push.
    private func putBack(_ index: Int, in lane: FCMLane, _ failure: HTTPClientFailure) {
        switch failure {
        case .withdrawn, .draining: lane.complete(index, .notSent)
        case .refused, .connectionLost, .tooManyWaiting, .reset:
            lane.putBack(index)
            resumesAt = .now + configuration.refusalRest
        case .noConnection, .noFreeStream, .timeout, .certificateRejected, .headersTooLarge, .responseTooLarge:
            let delay = FCMResponseClass.serverErrorDelayMilliseconds
            lane.complete(index, .deferred(.connectionFailed, delayMilliseconds: delay))
        }
    }

    private func judge(_ response: HTTPClientResponse, of index: Int, in lane: FCMLane, generation: Int) {
        let now = ContinuousClock.now
        lastAnswerAt = now
        let verdict = FCMResponseClass.verdict(on: FCMAnswer(response), wallSeconds: clock.wallSeconds())
        if verdict.outcome == .accepted {
            metrics.accepted.add()
            holds.accepted(application: lane.batch.application.id)
        } else {
            metrics.refused.add()
        }
        switch verdict.consequence {
        case .nothing: lane.complete(index, verdict.outcome)
        case .slowDown:
            paces[lane.account.projectID]?.exhausted(now: now)
            lane.complete(index, verdict.outcome)
        case .countQuotaRefusal:
            paces[lane.account.projectID]?.refused(now: now)
            lane.complete(index, verdict.outcome)
        case .renewAccessToken:
            let refusal = minters.minter(of: lane.account).refused(generation: generation)
            guard refusal == .resend, lane.putBackOnce(index) else { return lane.complete(index, verdict.outcome) }
        case .countApplicationRefusal:
            lane.complete(index, verdict.outcome)
            refuse(verdict.outcome, of: lane, now: now)
        }
    }

    private func refuse(_ outcome: PushOutcome, of lane: FCMLane, now: ContinuousClock.Instant) {
        let application = lane.batch.application
        guard case .rejected(let reason) = outcome, holds.refused(reason, application: application.id, now: now) else { return }
        logger.log(
            .error, "FCM refuses the app's set-up: its pushes are rejected for a while",
            [.appID: application.publicID.description, .reason: reason.name, .projectID: lane.account.projectID])
    }
}
