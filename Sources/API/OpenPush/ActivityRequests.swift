import Gateway
import HTTP
import JSON
import Security

/// Reads the bodies of the root pair. Every field that is wrong is reported, not only the first.
struct ActivityRequests: Sendable {
    /// Seconds since 1970.
    let now: @Sendable () -> Int64

    /// Reads a start.
    func start(_ request: HTTPRequest, activityType: String) throws(Refusal) -> StartCommand {
        var checks = try request.bodyChecks()
        let type = checks.parameter(activityType, as: "activity_type") { text throws(FieldProblem) in
            try FieldRule.identifier(text)
        }
        _ = checks.required("event") { value throws(FieldProblem) in try Self.event(value, among: [.start]) }
        let activityID = checks.required("activity_id") { value throws(FieldProblem) in try FieldRule.activityID(value) }
        let attributes = checks.required("event_attributes", FieldRule.rawObject)
        let staleDate = checks.optional("stale_date", FieldRule.seconds)
        let shared = Shared(&checks, needsTexts: true)
        let key = checks.optional("idempotency_key", FieldRule.uuid)
        let audience = checks.audience()
        checks.reportUnknownKeys()
        // With a key and nothing else wrong, it may be a replay, which is answered however late it comes.
        if let staleDate, staleDate < now(), key == nil || !checks.errors.isEmpty { checks.report("stale_date", .past) }
        try checks.refuseIfAnythingIsWrong()
        guard let type, let activityID, let attributes, let name = shared.name, let state = shared.contentState, let audience
        else { preconditionFailure("a required field is neither there nor reported") }
        let content = PushContent(
            event: .start, attributesType: type, attributes: attributes, contentState: state, alerts: shared.alerts,
            sound: shared.sound, staleDate: staleDate, dismissalDate: nil, relevanceScore: shared.relevanceScore,
            priority: shared.priority)
        return StartCommand(
            activityID: activityID, activityType: type, name: name, audience: audience, content: content,
            idempotency: key.map { IdempotencyKey(key: $0, bodyDigest: SHA256.digest(request.body)) })
    }

    /// Reads an update or an end.
    func push(_ request: HTTPRequest, activityID: String) throws(Refusal) -> UpdateCommand {
        var checks = try request.bodyChecks()
        let activityID = checks.parameter(activityID, as: "activity_id") { text throws(FieldProblem) in
            try FieldRule.activityID(text)
        }
        let event = checks.required("event") { value throws(FieldProblem) in try Self.event(value, among: [.update, .end]) }
        let shared = Shared(&checks, needsTexts: false)
        let staleDate = checks.optional("stale_date", FieldRule.seconds)
        let dismissalDate = checks.optional("dismissal_date") { value throws(FieldProblem) in
            if event == .update { throw .notAllowed("on an end") }
            return try FieldRule.seconds(value)
        }
        try checks.finish()
        guard let activityID, let event, let name = shared.name, let state = shared.contentState else {
            preconditionFailure("a required field is neither there nor reported")
        }
        let content = PushContent(
            event: event, attributesType: nil, attributes: nil, contentState: state, alerts: shared.alerts,
            sound: shared.sound, staleDate: staleDate, dismissalDate: dismissalDate, relevanceScore: shared.relevanceScore,
            priority: shared.priority)
        return UpdateCommand(activityID: activityID, name: name, content: content)
    }

    private static func event(_ value: JSONValue, among events: [ActivityEvent]) throws(FieldProblem) -> ActivityEvent {
        guard let name = value.string, let event = events.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) else {
            throw .notOneOf(events.map { "\"\($0.name)\"" }.joined(separator: " or "))
        }
        return event
    }

    /// What both bodies have.
    struct Shared {
        /// The priority of a request that names none.
        static let defaultPriority = 10

        let name: String?
        let contentState: [UInt8]?
        let alerts: [LocalizedAlert]
        let sound: String?
        let relevanceScore: [UInt8]?
        let priority: Int

        /// - Parameter isPreview: nothing is sent, and so neither a state nor a name is needed.
        init(_ checks: inout FieldChecks, needsTexts: Bool, isPreview: Bool = false) {
            if isPreview {
                contentState = checks.optional("event_updates", FieldRule.rawObject)
                name = checks.optional("name", FieldRule.name)
            } else {
                contentState = checks.required("event_updates", FieldRule.rawObject)
                name = checks.required("name", FieldRule.name)
            }
            let bodies = checks.localizedText("contents", isRequired: needsTexts)
            let titles = checks.localizedText("headings", isRequired: needsTexts)
            alerts = LocalizedText.alerts(titles: titles, bodies: bodies)
            priority = checks.optional("priority", FieldRule.priority) ?? Self.defaultPriority
            relevanceScore = checks.optional("ios_relevance_score", FieldRule.relevanceScore)
            let names = ["ios_sound", "sound"].map { checks.optional($0, FieldRule.sound) ?? nil }
            // The first that is not blank counts, and "nil" is how a caller says silence.
            sound = names.compactMap { $0 }.first.flatMap { $0 == "nil" ? nil : $0 }
        }
    }
}

extension FieldRule {
    /// The name of a sound; nil when it is blank.
    fileprivate static func sound(_ value: JSONValue) throws(FieldProblem) -> String? {
        let text = try string(value)
        return isBlank(text) ? nil : try bounded(text, byteCount: shortTextByteCount)
    }
}
