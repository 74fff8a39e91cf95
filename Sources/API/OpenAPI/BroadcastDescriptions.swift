import Gateway

/// MoEngage's broadcast Live Activities.
enum BroadcastDescriptions {
    /// Campaigns of the examples: one to be started, one that is updated and one that is ended. A test makes them.
    static let campaign = "live_check123"
    static let updatedCampaign = "cup_final"
    static let endedCampaign = "derby"
    /// The instance that runs of the campaign that is updated.
    static let instance = "1749822841120-57c5c617"

    static let error = Schema.any(
        of: .list(of: .anything, 0...0),
        .object([
            (
                "error",
                .object(
                    [("code", .text), ("message", .text)],
                    optional: [
                        ("details", .list(of: .object([("code", .text), ("target", .text), ("message", .text)])))
                    ])
            )
        ]))

    // MARK: Campaigns

    private static let segments = Schema.object(
        [
            (
                "filters",
                .list(
                    of: .object(
                        [("filter_type", .choice(CampaignRequests.segmentFilter))], optional: [("id", .uuid), ("name", .name)]))
            )
        ], optional: [("filter_operator", .choice("or"))])

    private static func campaignBody(_ id: String, request: String, _ audience: String) -> String {
        """
        {"request_id":"\(request)","channel":"PUSH","campaign_delivery_type":"\(CampaignRequests.deliveryType)",\
        "created_by":"person@example.com","basic_details":{"name":"Final","broadcast_live_activity_id":"\(id)",\
        "platforms":["IOS"]},"segmentation_details":\(audience)}
        """
    }
    private static let everybody = #"{"is_all_user_campaign":true}"#

    static let create = RouteDescription(
        area: .moEngage, summary: "Create a broadcast campaign, with its channel",
        body: .init(
            schema: .openObject(
                [
                    ("request_id", .identifier), ("channel", .choice("PUSH")),
                    ("campaign_delivery_type", .choice(CampaignRequests.deliveryType)), ("created_by", .text),
                    (
                        "basic_details",
                        .openObject(
                            [("name", .name)],
                            optional: [("broadcast_live_activity_id", .identifier), ("platforms", .list(of: .choice("IOS")))])
                    ),
                    (
                        "segmentation_details",
                        .openObject(
                            [],
                            optional: [
                                ("is_all_user_campaign", .bool), ("included_filters", segments),
                                ("excluded_filters", segments), ("filters", .list(of: .named("Filter"))),
                            ])
                    ),
                ],
                optional: [("apns_environments", .list(of: .choice(PushEnvironment.allCases.map(\.name))))]),
            examples: [.init("everybody", 200, campaignBody(campaign, request: "r-1", everybody))]),
        answers: [
            .init(
                200, "It exists. apns_channel_id is what devices request their activity with.",
                .json(
                    .object([
                        (
                            "data",
                            .object([
                                ("campaign_id", .uuid), ("broadcast_live_activity_id", .identifier),
                                ("apns_channel_id", .nullable(.text)), ("apns_channel_ids", .map(of: .text)),
                                ("message", .choice("success")),
                            ])
                        )
                    ])))
        ],
        errors: [
            wrong(
                [.init(.missing, target: "request_id")],
                body: without(#""request_id":"r-1","#, campaignBody(campaign, request: "r-1", everybody))),
            wrong(
                [.init(.extra, target: "basic_details.budget")],
                body: campaignBody(campaign, request: "r-1", everybody).replacing(
                    #""name":"Final""#, #""name":"Final","budget":1"#)),
            ErrorExample(
                "duplicate_request", .broadcast(.duplicateRequest), body: campaignBody("other", request: "r-1", everybody)),
        ])

    // MARK: Instances

    private static let alert = Schema.object(
        [("title", .text), ("body", .any(of: .text, .map(of: .anything)))], optional: [("subtitle", .text), ("sound", .text)])
    private static let state: [(String, Schema)] = [("content_state", .map(of: .anything)), ("alert", alert)]
    private static let success = Schema.object([
        ("data", .object([("instance_id", .identifier), ("message", .choice("success"))]))
    ])
    private static let stateExample = #""content_state":{"score":"1:0"},"alert":{"title":"Goal","body":"1:0"}"#

    private static func body(_ ios: [(String, Schema)], optional: [(String, Schema)]) -> Schema {
        .object(
            [("broadcast_live_activity_id", .identifier), ("ios", .object(ios + state, optional: optional))],
            optional: [("instance_id", .identifier)])
    }

    private static func startBody(_ campaign: String, instance: String? = nil, more: String = "") -> String {
        let named = instance.map { #""instance_id":"\#($0)","# } ?? ""
        return #"{"broadcast_live_activity_id":"\#(campaign)",\#(named)"ios":{"attribute_type":"\#(Example.activityType)","#
            + #""attribute_info":{"home":"A"},\#(stateExample)\#(more)}}"#
    }
    private static func updateBody(_ campaign: String, instance: String? = nil, more: String = "") -> String {
        let named = instance.map { #""instance_id":"\#($0)","# } ?? ""
        return #"{"broadcast_live_activity_id":"\#(campaign)",\#(named)"ios":{\#(stateExample)\#(more)}}"#
    }

    static let start = RouteDescription(
        area: .moEngage, summary: "Start an instance of a campaign on the devices of its audience",
        body: .init(
            schema: body(
                [("attribute_type", .identifier), ("attribute_info", .map(of: .anything))],
                optional: [
                    ("dismissal_date", .seconds)
                ]),
            examples: [.init("minted", 200, startBody(campaign))]),
        answers: [.init(200, "It is stored, and sent afterwards.", .json(success))],
        errors: [
            wrong([.init(.extra, target: "ios.stale_date")], body: startBody(campaign, more: #","stale_date":1"#)),
            unknownCampaign(startBody("nothing")),
            ErrorExample("duplicate", .broadcast(.duplicate), body: startBody(updatedCampaign, instance: instance)),
        ])

    private static func operation(_ summary: String, _ campaign: String, _ errors: [ErrorExample]) -> RouteDescription {
        RouteDescription(
            area: .moEngage, summary: summary,
            body: .init(
                schema: body([], optional: [("dismissal_date", .seconds), ("stale_date", .seconds)]),
                examples: [.init("state", 200, updateBody(campaign))]),
            answers: [.init(200, "It is stored, and sent afterwards.", .json(success))],
            errors: [
                wrong(
                    [.init(.extra, target: "ios.alert.metrics")],
                    body: updateBody(campaign).replacing(#""title":"Goal""#, #""title":"Goal","metrics":1"#)),
                wrong(
                    [.init(.dictionary, target: "ios.content_state"), .init(.missing, target: "ios.alert")],
                    body: #"{"broadcast_live_activity_id":"\#(campaign)","ios":{"content_state":1}}"#, name: "several"),
                unknownCampaign(updateBody("nothing")),
            ] + errors)
    }

    static let update = operation(
        "Push a new state to everybody who shows the campaign's instance", updatedCampaign,
        [
            ErrorExample(
                "limit_reached", .broadcast(.tooManyInstances), body: updateBody(updatedCampaign, instance: "1-00000000"))
        ])
    static let end = operation(
        "End the campaign's instance everywhere", endedCampaign,
        [ErrorExample("invalid_action", .broadcast(.notRunning), body: updateBody(endedCampaign))])

    private static func unknownCampaign(_ body: String) -> ErrorExample {
        ErrorExample("campaign_not_found", .broadcast(.unknownCampaign("nothing")), body: body)
    }
    private static func wrong(_ details: [PayloadDetail], body: String, name: String? = nil) -> ErrorExample {
        ErrorExample("wrong_\(name ?? details[0].target)", .broadcast(.payload(details)), body: body)
    }
    private static func without(_ part: String, _ text: String) -> String { text.replacing(part, "") }
}

extension String {
    /// The text with one part, which it has, replaced.
    fileprivate func replacing(_ part: String, _ other: String) -> String {
        guard let range = firstRange(of: part) else { preconditionFailure("\(part) is not in the example") }
        return self[..<range.lowerBound] + other + self[range.upperBound...]
    }
}
