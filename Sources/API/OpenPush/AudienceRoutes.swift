import Gateway
import HTTP
import JSON

/// Who would be reached: nothing is stored, nothing is sent, and the app's rate is not touched.
struct AudienceRoutes: Sendable {
    let counter: any AudienceCounter
    let renderer: any PayloadRenderer
    /// Seconds since 1970.
    let now: @Sendable () -> Int64

    /// Counts whom a start would reach, and renders it when its attributes and state are given.
    func preview(_ request: HTTPRequest, application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let type = checks.required("activity_type") { value throws(FieldProblem) in try FieldRule.identifier(value) }
        let content = Self.content(&checks, activityType: type)
        let audience = checks.audience()
        try checks.finish()
        guard let type, let audience else { preconditionFailure("a required field is neither there nor reported") }
        let counted = try await count(audience, activityType: type, application: application)
        let largest = content.map { largestBody($0, application: application) }
        return .json(status: 200) { writer in
            counted.write(to: &writer)
            writer.key("payload")
            if let largest { writer.raw(largest) } else { writer.null() }
            writer.member("payload_bytes", largest?.count)
            writer.member("payload_limit", AdmissionLimits.payloadByteCount)
        }
    }

    /// OneSignal's estimate of recipients: every device that matches, whatever tokens it holds.
    func countUnsaved(_ request: HTTPRequest, application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let identifier = checks.required("app_id", FieldRule.uuid)
        _ = checks.optional("target_channel") { value throws(FieldProblem) in
            guard value.string == "push" else { throw .notOneOf("\"push\"") }
        }
        let audience = checks.audience()
        try checks.finish()
        guard let audience else { preconditionFailure("a required field is neither there nor reported") }
        guard identifier == application.publicID else { throw .wrongApplication }
        let counted = try await count(audience, activityType: nil, application: application)
        return .json(status: 200) { writer in
            writer.member("count", counted.matchedCount)
            // There only where a plan's cap was applied; here is none.
            writer.key("uncapped_count")
            writer.null()
            writer.member("cap_applied", false)
            writer.member("mobile_suppressed", false)
            writer.member("mobile_excluded_count", 0)
        }
    }

    private func count(
        _ audience: Audience, activityType: String?, application: Application
    ) async throws(Refusal) -> AudiencePreview {
        let result = try await Refusal.catching { () async throws(StorageError) in
            try await counter.preview(audience, activityType: activityType, application: application.id)
        }
        switch result {
        case .counted(let preview): return preview
        case .unknownSegments(let names): throw .unknownSegments(names, of: audience)
        }
    }

    /// The largest body of all languages, in the form that a start is measured in: what the limit is compared with.
    private func largestBody(_ content: PushContent, application: Application) -> [UInt8] {
        let bodies = renderer.bodies(of: content, form: PayloadForm(measuringStartOf: application), timestamp: now())
        return bodies.max { $0.count < $1.count } ?? []
    }

    /// What a start would carry; nil when neither attributes nor a state are given, or when something is wrong and reported.
    private static func content(_ checks: inout FieldChecks, activityType: String?) -> PushContent? {
        let attributes = checks.optional("event_attributes", FieldRule.rawObject)
        let staleDate = checks.optional("stale_date", FieldRule.seconds)
        let shared = ActivityRequests.Shared(&checks, needsTexts: false, isPreview: true)
        let isGiven = ["event_attributes", "event_updates"].map { checks.present($0) != nil }
        if isGiven == [true, false] { checks.report("event_attributes", .requires("event_updates")) }
        if isGiven == [false, true] { checks.report("event_updates", .requires("event_attributes")) }
        guard let attributes, let state = shared.contentState else { return nil }
        return PushContent(
            event: .start, attributesType: activityType, attributes: attributes, contentState: state, alerts: shared.alerts,
            sound: shared.sound, staleDate: staleDate, dismissalDate: nil, relevanceScore: shared.relevanceScore,
            priority: shared.priority)
    }
}

extension AudiencePreview {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.member("matched", matchedCount)
        writer.member("reachable", reachableCount)
        writer.key("environments")
        writer.beginObject()
        writer.member(PushEnvironment.production.name, productionCount)
        writer.member(PushEnvironment.sandbox.name, sandboxCount)
        writer.endObject()
        writer.key("fcm")
        writer.beginObject()
        writer.member(DevicePlatform.android.name, androidCount)
        writer.member(DevicePlatform.ios.name, relayedCount)
        writer.endObject()
        writer.key("unreachable")
        writer.beginObject()
        writer.member("no_token", tokenlessCount)
        writer.member("disabled", disabledCount)
        writer.member("wrong_environment", wrongEnvironmentCount)
        writer.member("token_removed", removedCount)
        writer.endObject()
        writer.member("unknown_entries", unknownEntryCount)
    }
}
