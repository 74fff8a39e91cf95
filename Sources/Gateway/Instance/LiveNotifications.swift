/// Starts, updates and ends live notifications: makes pushes of what was asked for, and has them stored.
package struct LiveNotifications: Sendable {
    /// How often an update is made of what the instance has now; the last time with the instance to itself, so that many at once all get
    /// through.
    private static let attemptCount = 3

    private let ledger: any InstanceLedger
    private let renderer: any PayloadRenderer
    private let nowMilliseconds: @Sendable () -> Int64
    private let announce: @Sendable () -> Void

    /// Puts the ports together.
    ///
    /// - Parameters:
    ///   - nowMilliseconds: since 1970.
    ///   - announce: called when something is to be pushed.
    package init(
        ledger: any InstanceLedger, renderer: any PayloadRenderer, nowMilliseconds: @escaping @Sendable () -> Int64,
        announce: @escaping @Sendable () -> Void = {}
    ) {
        self.ledger = ledger
        self.renderer = renderer
        self.nowMilliseconds = nowMilliseconds
        self.announce = announce
    }

    /// Accepts a start: it is stored, and pushed afterwards.
    package func start(_ request: InstanceStart, application: Application) async throws(StorageError) -> InstanceStartDecision {
        if case .refused(let seconds) = try await ledger.admitInstanceCall(of: application.id) {
            return .rateLimited(retryAfterSeconds: seconds)
        }
        let registered = try await ledger.attributesTypes(of: request.notificationType, application: application.id)
        let type = InstanceContent.usualAttributesType(of: request.notificationType)
        let types = InstanceContent.types(of: request.notificationType, registered: registered)
        let now = nowMilliseconds()
        let (id, delivery) = (InstanceID.mint(milliseconds: now), InstanceID.mint(milliseconds: now))
        let content = InstanceContent.start(request, attributesType: type, id: id, delivery: delivery)
        if let byteCount = excessByteCount(of: content, types: types, platform: request.platform, application) {
            return .tooLarge(byteCount: byteCount, limit: AdmissionLimits.payloadByteCount)
        }
        let command = StartCommand(
            activityID: "\(id)", activityType: type, name: request.notificationType, audience: .aliases(request.profile),
            content: content, idempotency: nil, expiresAt: request.expiresAt)
        let stored = StoredInstanceStart(id: id, delivery: delivery, request: request, types: types, command: command)
        guard try await ledger.start(stored, application: application) else { return .overloaded }
        announce()
        return .started(id)
    }

    /// Accepts an update or end.
    package func update(_ request: InstanceUpdate, application: Application) async throws(StorageError) -> InstanceUpdateDecision
    {
        if case .refused(let seconds) = try await ledger.admitInstanceCall(of: application.id) {
            return .rateLimited(retryAfterSeconds: seconds)
        }
        for attempt in 1...Self.attemptCount {
            guard let instance = try await ledger.instance(request.instance, application: application.id) else {
                return .unknownInstance
            }
            guard instance.state == .active else { return .over(instance.state) }
            let fitting: InstanceUpdate
            do throws(FieldErrors) { fitting = try request.fitting(instance.notificationType) } catch { return .invalid(error) }
            let delivery = InstanceID.mint(milliseconds: nowMilliseconds())
            let isLast = attempt == Self.attemptCount
            switch remade(fitting, of: instance, instance.material, delivery: delivery, application) {
            case .tooLarge(let byteCount): return .tooLarge(byteCount: byteCount, limit: AdmissionLimits.payloadByteCount)
            case .made(let command):
                let update = StoredInstanceUpdate(
                    delivery: delivery, request: fitting, command: command,
                    basis: isLast
                        ? .whatIsThere { remade(fitting, of: instance, $0, delivery: delivery, application) }
                        : .delivery(instance.lastDelivery?.id))
                switch try await ledger.update(update, application: application) {
                case .accepted:
                    announce()
                    return .accepted(request.instance)
                case .unknownInstance: return .unknownInstance
                case .over(let state): return .over(state)
                case .tooLarge(let byteCount): return .tooLarge(byteCount: byteCount, limit: AdmissionLimits.payloadByteCount)
                case .outOfDate: continue
                }
            }
        }
        throw .unavailable
    }

    /// The push of an update.
    ///
    /// - Parameters:
    ///   - instance: what never changes of it counts.
    ///   - told: what it has by then.
    private func remade(
        _ request: InstanceUpdate, of instance: Instance, _ told: InstanceMaterial, delivery: InstanceID,
        _ application: Application
    ) -> RemadeUpdate {
        let template = InstanceTemplate(rawValue: instance.notificationType)
        // What a device told of itself was not capped when it came.
        let contentState =
            request.contentState ?? (try? template?.fitting(contentState: told.contentState)) ?? told.contentState
        let content = InstanceContent.update(
            request.event, attributes: request.attributes ?? told.attributes, contentState: contentState, alert: request.alert,
            mark: InstanceMark(
                instance: request.instance, delivery: delivery, notificationType: instance.notificationType,
                deepLink: request.deepLink ?? told.deepLink))
        if let byteCount = excessByteCount(of: content, platform: instance.platform, application) {
            return .tooLarge(byteCount: byteCount)
        }
        return .made(
            UpdateCommand(
                activityID: "\(request.instance)", name: instance.notificationType, content: content,
                // A phone that comes back after the instance has expired is not to show it, or an older state of it. An end it gets all the same.
                expiresAt: request.event == .end ? nil : instance.expiresAt))
    }

    // On which platforms the profile is, nobody knows here. Without a platform iOS counts: where the content is too large for Android
    // alone, iOS devices get it, and what became of the others is told.
    /// Of the largest body that any of the app's devices may get, when its service would refuse it.
    private func excessByteCount(
        of content: PushContent, types: [String] = [], platform: DevicePlatform?, _ application: Application
    ) -> Int? {
        var forms: [PayloadForm] = []
        if platform != .android, platform == .ios || application.bundleID != nil {
            forms.append(PayloadForm(service: .apnsProduction, attributesType: types.max { $0.utf8.count < $1.utf8.count }))
        }
        if forms.isEmpty { forms.append(PayloadForm(service: .fcm)) }
        let byteCounts = forms.map { renderer.largestByteCount(of: content, form: $0, timestamp: nowMilliseconds() / 1_000) }
        return byteCounts.max().flatMap { $0 > AdmissionLimits.payloadByteCount ? $0 : nil }
    }
}

extension Instance {
    fileprivate var material: InstanceMaterial {
        InstanceMaterial(attributes: attributes, contentState: contentState, deepLink: deepLink)
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
