import Gateway

/// The root pair: starting an activity, and pushing to one that runs.
enum ActivityDescriptions {
    /// One entry of a filter list: a condition, or what joins two.
    static let filter = Schema.any(
        of: .object([("operator", .choice("OR", "AND"))]),
        .object(
            [("field", .text)],
            optional: [
                ("relation", .text), ("key", .text), ("value", .anything), ("hours_ago", .anything), ("lat", .anything),
                ("long", .anything), ("radius", .anything),
            ]))
    static let filters = Schema.list(of: .named("Filter"), 1...AdmissionLimits.filterCount)

    /// Exactly one of the first, third and fifth forms is given; that is not in the schema.
    static let targeting: [(String, Schema)] = [
        ("include_aliases", .map(of: .list(of: .identifier))),
        ("include_subscription_ids", .list(of: .uuid, 1...AdmissionLimits.audienceListCount)),
        ("included_segments", .list(of: .name, 1...AdmissionLimits.segmentCount)),
        ("excluded_segments", .list(of: .name, 0...AdmissionLimits.segmentCount)), ("filters", filters),
    ]
    static let texts: [(String, Schema)] = [("headings", .map(of: .text)), ("contents", .map(of: .text))]
    static let delivery: [(String, Schema)] = [
        ("stale_date", .seconds), ("priority", .literals("5", "10")), ("ios_relevance_score", .number(0...1)),
        ("ios_sound", .text), ("sound", .text),
    ]

    private static let created = RouteDescription.Answer(
        201, "Accepted and stored. Both members are the same.", .json(.object([("id", .uuid), ("notification_id", .uuid)])))

    // MARK: Start

    private static let startBody = Schema.object(
        [
            ("event", .choice("start")), ("activity_id", .identifier), ("name", .name), ("event_attributes", .anyObject),
            ("event_updates", .anyObject),
        ] + texts, optional: delivery + [("idempotency_key", .uuid)] + targeting)

    private static func startExample(_ activity: String, _ targeting: String) -> String {
        #"{"event":"start","activity_id":"\#(activity)","name":"kick-off","event_attributes":{"home":"Lions","away":"Bears"},"#
            + #""event_updates":{"home":0,"away":0},"headings":{"en":"Kick-off"},"contents":{"en":"Lions v Bears"},\#(targeting)}"#
    }

    static let start = RouteDescription(
        area: .backend, summary: "Start an activity on every targeted device that holds a start token of the type",
        body: .init(
            schema: startBody,
            examples: [
                .init("by_alias", 201, startExample("match-7", #""include_aliases":{"external_id":["fan-1"]}"#)),
                .init(
                    "by_filters", 201,
                    startExample("match-8", #""filters":[{"field":"tag","key":"club","relation":"=","value":"home"}]"#)),
                .init(
                    "everybody_once", 201,
                    startExample(
                        "match-9",
                        #""included_segments":["All"],"idempotency_key":"5b0f7a39-5a8e-4c55-9a4e-3c0f1d1f0b11","priority":5"#)),
            ]), answers: [created],
        errors: [
            .field("name", .missing, body: startExample("match-7", #""included_segments":["All"]"#).without("name")),
            .field(
                "activity_type", .nobodyHoldsStartToken(activityType: "OtherAttributes"), path: ["type": "OtherAttributes"]),
            .field(
                "included_segments", .unknownSegment("Nobody"),
                body: startExample("match-7", #""included_segments":["Nobody"]"#)),
            ErrorExample("too_many_calls", .rateLimited(retryAfterSeconds: 1), times: AdmissionLimits.requestsPerMinute + 1),
        ])

    // MARK: Update and end

    private static let pushBody = Schema.object(
        [("event", .choice("update", "end")), ("name", .name), ("event_updates", .anyObject)],
        optional: texts + delivery + [("dismissal_date", .seconds)])

    static let push = RouteDescription(
        area: .backend, summary: "Update or end an activity on every device that still holds it",
        body: .init(
            schema: pushBody,
            examples: [
                .init(
                    "update", 201,
                    #"{"event":"update","name":"first goal","event_updates":{"home":1,"away":0},"#
                        + #""headings":{"en":"Goal!"},"contents":{"en":"1:0"}}"#),
                .init(
                    "end", 201, #"{"event":"end","name":"full time","event_updates":{"home":1,"away":0}}"#,
                    path: ["activity": Example.endingActivity]),
            ]), answers: [created],
        errors: [
            .field(
                "dismissal_date", .notAllowed("on an end"),
                body: #"{"event":"update","name":"late","event_updates":{"home":2},"dismissal_date":1800000000}"#),
            ErrorExample("unknown", .notFound("There is no activity of this id."), path: ["activity": "none"]),
            ErrorExample("ended", .notFound("The activity has ended."), path: ["activity": Example.endedActivity]),
            ErrorExample(
                "nobody", .nobodyHolds,
                path: ["activity": Example.unseenActivity]),
            ErrorExample("too_many_calls", .rateLimited(retryAfterSeconds: 1), times: AdmissionLimits.requestsPerMinute + 1),
        ])
}

extension String {
    /// The object without its member of that name, whose value is a plain string.
    fileprivate func without(_ member: String) -> String {
        guard let start = firstRange(of: "\"\(member)\":\""), let end = self[start.upperBound...].firstIndex(of: "\"") else {
            preconditionFailure("an example without \(member)")
        }
        return String(self[..<start.lowerBound] + self[index(end, offsetBy: 2)...])
    }

    private func firstRange(of text: String) -> Range<String.Index>? {
        indices.lazy.compactMap { start in
            self[start...].hasPrefix(text) ? start..<self.index(start, offsetBy: text.count) : nil
        }.first
    }
}
