/// Starts, updates and ends live notifications: makes pushes of what was asked for, and has them stored.
package struct LiveNotifications: Sendable {
    /// How often an update is made anew when another one came in between.
    private static let attemptCount = 5

    private let ledger: any InstanceLedger
    private let renderer: any PayloadRenderer
    private let nowMilliseconds: @Sendable () -> Int64

    /// Puts the ports together.
    ///
    /// - Parameter nowMilliseconds: since 1970.
    package init(
        ledger: any InstanceLedger, renderer: any PayloadRenderer, nowMilliseconds: @escaping @Sendable () -> Int64
    ) {
        self.ledger = ledger
        self.renderer = renderer
        self.nowMilliseconds = nowMilliseconds
    }

    /// Accepts a start: it is stored, and pushed afterwards.
    package func start(_ request: InstanceStart, application: Application) async throws(StorageError) -> InstanceStartDecision {
        if case .refused(let seconds) = try await ledger.admitInstanceCall(of: application.id) {
            return .rateLimited(retryAfterSeconds: seconds)
        }
        let registered = try await ledger.attributesType(of: request.notificationType, application: application.id)
        let type = registered ?? InstanceContent.builtInAttributesType(of: request.notificationType) ?? request.notificationType
        let now = nowMilliseconds()
        let (id, delivery) = (InstanceID.mint(milliseconds: now), InstanceID.mint(milliseconds: now))
        let content = InstanceContent.start(request, attributesType: type, id: id, delivery: delivery)
        if let byteCount = excessByteCount(of: content) {
            return .tooLarge(byteCount: byteCount, limit: AdmissionLimits.payloadByteCount)
        }
        let command = StartCommand(
            activityID: "\(id)", activityType: type, name: request.notificationType, audience: .aliases(request.profile),
            content: content, idempotency: nil)
        let stored = StoredInstanceStart(id: id, delivery: delivery, request: request, command: command)
        return try await ledger.start(stored, application: application) ? .started(id) : .overloaded
    }

    /// Accepts an update or end.
    package func update(_ request: InstanceUpdate, application: Application) async throws(StorageError) -> InstanceUpdateDecision
    {
        if case .refused(let seconds) = try await ledger.admitInstanceCall(of: application.id) {
            return .rateLimited(retryAfterSeconds: seconds)
        }
        for _ in 0..<Self.attemptCount {
            guard let instance = try await ledger.instance(request.instance, application: application.id) else {
                return .unknownInstance
            }
            guard instance.state == .active else { return .over(instance.state) }
            let update: StoredInstanceUpdate
            do throws(FieldErrors) {
                update = stored(try request.fitting(instance.notificationType), of: instance)
            } catch {
                return .invalid(error)
            }
            if let byteCount = excessByteCount(of: update.command.content) {
                return .tooLarge(byteCount: byteCount, limit: AdmissionLimits.payloadByteCount)
            }
            switch try await ledger.update(update, application: application) {
            case .accepted: return .accepted(request.instance)
            case .unknownInstance: return .unknownInstance
            case .over(let state): return .over(state)
            case .outOfDate: continue
            }
        }
        throw .unavailable
    }

    private func stored(_ request: InstanceUpdate, of instance: Instance) -> StoredInstanceUpdate {
        let delivery = InstanceID.mint(milliseconds: nowMilliseconds())
        let contentState = request.contentState ?? instance.contentState
        let deepLink = request.deepLink ?? instance.deepLink
        let content = InstanceContent.update(
            request.event, contentState: contentState, alert: request.alert, delivery: delivery, deepLink: deepLink)
        return StoredInstanceUpdate(
            delivery: delivery, request: request, attributes: request.attributes ?? instance.attributes,
            contentState: contentState, deepLink: deepLink, lastDelivery: instance.lastDelivery?.id,
            command: UpdateCommand(
                activityID: "\(request.instance)", name: instance.notificationType, content: content))
    }

    private func excessByteCount(of content: PushContent) -> Int? {
        let byteCount = renderer.largestByteCount(of: content, timestamp: nowMilliseconds() / 1_000)
        return byteCount > AdmissionLimits.payloadByteCount ? byteCount : nil
    }
}

extension InstanceUpdate {
    /// The same as the template of that type has it, if there is one. Its schema says nothing of attributes but on a start.
    fileprivate func fitting(_ notificationType: String) throws(FieldErrors) -> InstanceUpdate {
        guard let contentState, let template = InstanceTemplate(rawValue: notificationType) else { return self }
        return InstanceUpdate(
            instance: instance, event: event, attributes: attributes,
            contentState: try template.fitting(contentState: contentState),
            alert: alert, deepLink: deepLink)
    }
}
