/// Asks Apple's questions about a request of channels: the request, who sends it, what it carries, and only then about the channel.
struct ChannelJudge {
    let environment: PushEnvironment
    let keys: KeyRing
    let channels: ChannelRegistry

    /// Judges one request. `binding` is what the connection it came on is tied to; `now` is in milliseconds since 1970.
    func judge(
        _ request: ChannelRequest, binding: inout ConnectionBinding, settings: SimulatorSettings, now: Int64
    ) -> Verdict {
        var verdict = Verdict()
        if request.operation == .publish, settings.readsPayloads {
            verdict.reading = PayloadReading(payload: request.body, isLiveActivity: true, now: now / 1000)
            if verdict.reading.event == .start { verdict.reading.shapeErrors.append("a channel cannot start an activity") }
        }
        let check = ProviderTokenCheck(environment: environment, keys: keys)
        if request.operation == nil {
            verdict.reason = .methodNotAllowed
        } else if request.repeatsField {
            verdict.reason = .duplicateHeaders
        } else {
            verdict.reason =
                check.violation(
                    authorization: request.authorization, binding: &binding, settings: settings, now: now,
                    providerToken: &verdict.providerToken)
                ?? topicViolation(request, verdict) ?? ChannelRules.firstViolation(of: request)
                ?? channels.violation(of: request, environment: environment, settings: settings)
        }
        return verdict
    }

    private func topicViolation(_ request: ChannelRequest, _ verdict: Verdict) -> Reason? {
        guard let key = verdict.providerToken?.key, !key.bundleIDs.isEmpty else { return nil }
        return key.bundleIDs.contains(request.bundleID) ? nil : .topicMismatch
    }
}
