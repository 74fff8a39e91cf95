/// What became of a push in Apple's eyes.
struct Verdict {
    /// nil: accepted.
    var reason: Reason?
    var timestampMilliseconds: Int64?
    /// Position of the device token in the registry, when it got that far.
    var tokenIndex: Int?
    /// The device token of the path, when it is one.
    var token: [UInt8]?
    /// The provider token, when it was let in.
    var providerToken: VerifiedToken?
    var reading = PayloadReading()

    /// What Apple answers when no rule wants otherwise.
    var answer: PushAnswer { reason.map { PushAnswer($0, timestampMilliseconds: timestampMilliseconds) } ?? .accepted }
}

/// Asks Apple's questions in Apple's order: the request, who sends it, what it carries, and only then to whom.
struct Judge {
    let environment: PushEnvironment
    let keys: KeyRing
    let devices: DeviceRegistry

    /// Judges one push. `binding` is what the connection it came on is tied to; `now` is in milliseconds since 1970.
    func judge(_ push: PushRequest, binding: inout ConnectionBinding, settings: SimulatorSettings, now: Int64) -> Verdict {
        var verdict = Verdict()
        if case .device(let text) = push.destination { verdict.token = DeviceToken.parse(text) }
        if settings.readsPayloads {
            let isLiveActivity = push.pushType == "liveactivity" || push.topic?.hasSuffix(HeaderRules.liveActivitySuffix) == true
            verdict.reading = PayloadReading(payload: push.body, isLiveActivity: isLiveActivity, now: now / 1000)
            if push.pushType == nil { verdict.reading.shapeErrors.append("apns-push-type is missing") }
        }
        verdict.reason =
            requestViolation(push)
            ?? ProviderTokenCheck(environment: environment, keys: keys).violation(
                authorization: push.authorization, binding: &binding, settings: settings, now: now,
                providerToken: &verdict.providerToken)
            ?? HeaderRules.firstViolation(of: push) ?? keyTopicViolation(push, verdict) ?? HeaderRules.bodyViolation(of: push)
        if verdict.reason == nil { judgeDevice(push, settings: settings, verdict: &verdict) }
        return verdict
    }

    private func requestViolation(_ push: PushRequest) -> Reason? {
        if push.method != "POST" { return .methodNotAllowed }
        switch push.destination {
        case .unknown: return .badPath
        case .nowhere: return .missingDeviceToken
        case .device: return push.repeatsField ? .duplicateHeaders : nil
        }
    }

    private func keyTopicViolation(_ push: PushRequest, _ verdict: Verdict) -> Reason? {
        guard let key = verdict.providerToken?.key, !key.bundleIDs.isEmpty, let topic = push.topic else { return nil }
        return key.bundleIDs.contains(HeaderRules.bundleID(ofTopic: topic, pushType: push.pushType)) ? nil : .topicDisallowed
    }

    private func judgeDevice(_ push: PushRequest, settings: SimulatorSettings, verdict: inout Verdict) {
        guard let token = verdict.token else {
            verdict.reason = .badDeviceToken
            return
        }
        let sighting = devices.sight(
            token, environment: environment, topic: push.topic ?? "", reading: verdict.reading,
            acceptsUnknown: settings.acceptsUnknownTokens)
        verdict.tokenIndex = sighting.index
        verdict.reason = sighting.reason
        verdict.timestampMilliseconds = sighting.timestampMilliseconds
    }
}
