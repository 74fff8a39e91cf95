import HTTP
import Networking

/// Answering: at once, later, when released, or not at all.
extension PushConnection {
    /// Does what a script wants of a request, and answers it as far as that leaves anything to answer.
    func answer(_ streamID: Int32, as effect: Rule.Effect?, _ settings: SimulatorSettings) throws {
        if let effect, try !misbehave(on: streamID, effect) { return }
        let delay = effect?.delayMilliseconds ?? settings.latencyMilliseconds
        if effect?.isHeld == true {
            held.append(streamID)
        } else if delay.upperBound > 0 {
            answer(streamID, after: core.rules.draw(delay))
        } else {
            try answer(streamID)
        }
        if effect?.close == .after { closesWhenFlushed = true }
    }

    /// Does what comes before an answer; false when there will be none.
    private func misbehave(on streamID: Int32, _ effect: Rule.Effect) throws -> Bool {
        if !effect.settings.isEmpty { try session.submit(settings: effect.settings) }
        if let goAway = effect.goAway {
            try send(goAway, from: streamID)
            if streamID > lastAnsweredStream { return false }
        }
        if let stall = effect.stallMilliseconds { self.stall(for: stall) }
        if effect.close == .before {
            finish()
            return false
        }
        if let code = effect.resetCode {
            guard let answer = pending.removeValue(forKey: streamID) else { return false }
            try session.reset(streamID: streamID, errorCode: code)
            core.log.settle(answer.requestNumber, .reset(code: code))
            return false
        }
        if effect.isSilent {
            guard let answer = pending[streamID] else { return false }
            pending[streamID]?.isSilent = true
            core.log.settle(answer.requestNumber, .unanswered)
            return false
        }
        return true
    }

    /// Sends GOAWAY; the streams it leaves out are not answered any more.
    func send(_ goAway: Rule.GoAway, from streamID: Int32) throws {
        let last: Int32 =
            switch goAway.last {
            case .all: highestStream
            case .none: 0
            case .this: streamID
            case .before: max(streamID - 2, 0)
            case .stream(let number): number
            }
        lastAnsweredStream = min(lastAnsweredStream, last)
        for (cutID, answer) in pending where cutID > lastAnsweredStream {
            pending[cutID] = nil
            if !answer.isSilent { core.log.settle(answer.requestNumber, .unanswered) }
        }
        try session.goAway(lastStreamID: lastAnsweredStream, errorCode: goAway.code, debugData: goAway.debugData)
        core.log.count { $0.goAwayCount += 1 }
    }

    private func answer(_ streamID: Int32) throws {
        guard let answer = pending.removeValue(forKey: streamID) else { return }
        let response = AppleResponse.response(
            for: answer.answer, messageID: answer.messageID, environment: environment, isOfChannels: answer.isOfChannels)
        guard try session.respond(streamID: streamID, response: response) else {
            core.log.settle(answer.requestNumber, .unanswered)
            return
        }
        if answer.answer.status == 200, let index = answer.tokenIndex {
            core.devices.accepted(index, event: answer.event)
            if let token = answer.token, let channelID = answer.channelID {
                _ = core.channels.subscribe(token, to: channelID, environment: environment, now: core.now(core.settings))
            }
        }
        core.log.settle(answer.requestNumber, .answered(status: answer.answer.status, reason: answer.answer.reason))
    }

    /// Answers that are due in the same millisecond share a timer.
    private func answer(_ streamID: Int32, after milliseconds: Int64) {
        let elapsed = ContinuousClock.now - startedAt
        let moment = Int64(elapsed / .milliseconds(1)) + milliseconds
        due[moment, default: []].append(streamID)
        guard due[moment]?.count == 1 else { return }
        loop.schedule(after: .milliseconds(milliseconds)) { self.assumeIsolated { $0.answerDue(at: moment) } }
    }

    private func answerDue(at moment: Int64) {
        guard let streams = due.removeValue(forKey: moment) else { return }
        attempt {
            for streamID in streams { try answer(streamID) }
            try flush()
        }
    }

    /// Answers up to `limit` held streams, oldest first; answers how many there were.
    func release(upTo limit: Int, token: [UInt8]?) -> Int {
        var released: [Int32] = []
        held.removeAll { streamID in
            guard let answer = pending[streamID] else { return true }
            guard released.count < limit, token == nil || token == answer.token else { return false }
            released.append(streamID)
            return true
        }
        attempt {
            for streamID in released { try answer(streamID) }
            try flush()
        }
        return released.count
    }

    /// Does something to the connection as it is, without waiting for a request.
    func apply(_ effect: Rule.Effect) {
        attempt {
            if !effect.settings.isEmpty { try session.submit(settings: effect.settings) }
            if let goAway = effect.goAway { try send(goAway, from: highestStream) }
            try flush()
            if let stall = effect.stallMilliseconds { self.stall(for: stall) }
            if effect.close != nil { finish() }
        }
    }

    /// Tells an authenticated sender how many streams it may have open from now on.
    func announce(concurrentStreams: UInt32) {
        guard binding.isAuthenticated else { return }
        attempt {
            try session.submit(settings: [.maxConcurrentStreams(concurrentStreams)])
            try flush()
        }
    }
}
