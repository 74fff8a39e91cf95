/// Starts, updates and ends the instances of campaigns: makes pushes of what was asked for, and has them stored.
package struct Broadcasts: Sendable {
    private let ledger: any CampaignLedger
    private let renderer: any PayloadRenderer
    private let nowMilliseconds: @Sendable () -> Int64
    private let announce: @Sendable () -> Void

    /// Puts the ports together.
    ///
    /// - Parameters:
    ///   - nowMilliseconds: since 1970.
    ///   - announce: called when something is to be pushed.
    package init(
        ledger: any CampaignLedger, renderer: any PayloadRenderer, nowMilliseconds: @escaping @Sendable () -> Int64,
        announce: @escaping @Sendable () -> Void = {}
    ) {
        self.ledger = ledger
        self.renderer = renderer
        self.nowMilliseconds = nowMilliseconds
        self.announce = announce
    }

    /// Accepts a start: it is stored, and pushed afterwards.
    package func start(_ request: BroadcastStart, application: Application) async throws(StorageError) -> BroadcastDecision {
        if case .refused(let seconds) = try await ledger.admit(.start, of: application.id) {
            return .rateLimited(retryAfterSeconds: seconds)
        }
        // Before the campaign, which such an app has none of.
        guard application.canBroadcast else { return .refused(.noSigningKey) }
        guard let campaign = try await ledger.campaign(named: request.campaign, application: application.id) else {
            return .refused(.unknownCampaign)
        }
        let now = nowMilliseconds()
        if let date = request.state.dismissalDate, date <= now / 1_000 { return .refused(.dismissed) }
        guard let audience = campaign.audience else { return .refused(.unknownAudience) }
        let instanceID = request.instanceID ?? BroadcastInstance.mint(milliseconds: now)
        let mark = CampaignMark(
            instanceID: instanceID,
            start: CampaignMark.Start(
                campaign: campaign.id, campaignName: campaign.name, attributesType: request.attributesType,
                application: application.publicID))
        let content = PushContent(
            event: .start, attributesType: request.attributesType, attributes: request.attributes, request.state, mark: mark)
        if let limit = exceededLimit(of: content, campaign) { return .tooLarge(limit: limit) }
        let command = StartCommand(
            activityID: instanceID, activityType: request.attributesType, name: campaign.name, audience: audience,
            content: content, idempotency: nil)
        let start = StoredBroadcastStart(
            campaign: campaign, instanceID: instanceID, dismissalDate: request.state.dismissalDate, command: command)
        switch try await ledger.start(start, application: application) {
        case .accepted:
            announce()
            return .accepted(instanceID: instanceID)
        case .refused(let refusal): return .refused(refusal)
        case .overloaded: return .overloaded
        }
    }

    /// Accepts an update or end.
    package func update(_ request: BroadcastUpdate, application: Application) async throws(StorageError) -> BroadcastDecision {
        let call = CampaignCall(request.event)
        if case .refused(let seconds) = try await ledger.admit(call, of: application.id) {
            return .rateLimited(retryAfterSeconds: seconds)
        }
        // Before the campaign, which such an app has none of.
        guard application.canBroadcast else { return .refused(.noSigningKey) }
        guard let campaign = try await ledger.campaign(named: request.campaign, application: application.id) else {
            return .refused(.unknownCampaign)
        }
        if case .refused(let seconds) = try await ledger.admit(call, of: campaign, application: application.id) {
            return .rateLimited(retryAfterSeconds: seconds)
        }
        // An instance that is not named has one of the gateway's, whose length is known.
        let now = nowMilliseconds()
        let event = request.event(now: now / 1_000)
        let content = { @Sendable (instanceID: String) in
            PushContent(
                event: event, attributesType: nil, attributes: nil, request.state,
                mark: CampaignMark(instanceID: instanceID, start: nil))
        }
        let longest = request.instanceID ?? campaign.runningInstance ?? BroadcastInstance.mint(milliseconds: now)
        if let limit = exceededLimit(of: content(longest), campaign) { return .tooLarge(limit: limit) }
        let acceptance = try await ledger.update(request, of: campaign, application: application) { instanceID in
            UpdateCommand(activityID: instanceID, name: campaign.name, content: content(instanceID))
        }
        switch acceptance {
        case .accepted(let instanceID):
            announce()
            return .accepted(instanceID: instanceID)
        case .refused(let refusal): return .refused(refusal)
        }
    }

    /// The limit that the push is beyond. A start goes to each device by itself, and so is bound by what APNs takes for one.
    private func exceededLimit(of content: PushContent, _ campaign: Campaign) -> Int? {
        let plain = PayloadForm(service: content.event == .start ? .apnsProduction : .broadcastProduction)
        let joining = campaign.channels.values.map { PayloadForm(service: .apnsProduction, channelID: $0) }
        let forms = [plain] + (content.event == .start ? joining : [])
        let now = nowMilliseconds() / 1_000
        let byteCount = forms.map { renderer.largestByteCount(of: content, form: $0, timestamp: now) }.max() ?? 0
        if byteCount > CampaignLimits.payloadByteCount { return CampaignLimits.payloadByteCount }
        let isTooLargeForDevice = content.event == .start && byteCount > AdmissionLimits.payloadByteCount
        return isTooLargeForDevice ? AdmissionLimits.payloadByteCount : nil
    }
}

extension Application {
    /// Whether the app has what Apple wants of who uses channels: a signing key, and the bundle identifier it is for.
    package var canBroadcast: Bool { providerKey != nil && bundleID != nil }
}

extension BroadcastUpdate {
    /// What is pushed: an update whose dismissal date has come ends the activity.
    package func event(now: Int64) -> ActivityEvent {
        if let date = state.dismissalDate, date <= now { return .end }
        return event
    }
}

extension PushContent {
    fileprivate init(
        event: ActivityEvent, attributesType: String?, attributes: [UInt8]?, _ state: BroadcastState, mark: CampaignMark
    ) {
        self.init(
            event: event, attributesType: attributesType, attributes: attributes, contentState: state.contentState,
            alerts: [state.alert], sound: state.sound, staleDate: state.staleDate, dismissalDate: state.dismissalDate,
            relevanceScore: nil, priority: 10, campaign: mark)
    }
}
