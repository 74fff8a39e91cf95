import Gateway
import HTTP
import Testing

@testable import API

@Suite("Creating a campaign") struct CampaignTests {
    private let api = TestAPI()
    private var created: [NewCampaign] { api.campaigns.with { $0.created } }

    @Test("answers the campaign's identifiers and its channel")
    func creates() async throws {
        let response = await api.createCampaign(Body.campaign.text)
        #expect(response.status == 200)
        #expect(
            response.text
                == #"{"data":{"campaign_id":"11112222-3333-4444-8555-666677778888","broadcast_live_activity_id":"match","#
                + #""apns_channel_id":"AAEC","apns_channel_ids":{"production":"AAEC"},"message":"success"}}"#)
        let campaign = try #require(created.first)
        #expect(campaign.requestID == "r-1" && campaign.name == "Final" && campaign.createdBy == "person@example.com")
        #expect(campaign.liveActivityID == "match" && campaign.environments == [.production] && campaign.digest.count == 32)
        guard case .everybody = campaign.audience else {
            Issue.record("\(campaign.audience)")
            return
        }
    }

    @Test("has the channels made that are missing, in every environment that was asked for")
    func channels() async {
        let bare = FakeCampaigns.campaign(channels: [.production: "AAEC"])
        api.campaigns.with {
            $0.creation = .created(bare)
            $0.campaigns["\(bare.id)"] = bare
        }
        let body = Body.campaign.with("apns_environments", #"["production","sandbox"]"#)
        let lacking = await api.createCampaign(body.text)
        #expect(lacking.status == 503 && lacking.headers["retry-after"] == "30")
        #expect(
            lacking.text
                == HTTPResponse.moEngageError("ServerError", "No broadcast channel could be had from Apple, please try again"))
        api.campaigns.with { $0.channel = "BBEC" }
        let made = await api.createCampaign(body.text)
        #expect(made.status == 200)
        #expect(made.text.contains(#""apns_channel_ids":{"production":"AAEC","sandbox":"BBEC"}"#))
        #expect(api.campaigns.with { $0.made } == ["3 sandbox", "3 sandbox"])
    }

    @Test("passes over the members of other kinds of campaigns, whatever they are")
    func ignores() async {
        let body = Body.campaign.with("campaign_content", #"{"content":{}}"#).with("scheduling_details", "1")
            .with("advanced", "null").with("delivery_controls", "[]")
            .with("basic_details", Body.campaignDetails.with("platforms", #"["IOS"]"#).with("tags", #"["a"]"#).text)
        #expect(await api.createCampaign(body.text).status == 200)
    }

    /// `segmentation_details`, the included segments and the excluded ones; nil for filters, none for everybody.
    static let audiences: [(String, [SegmentReference]?, [SegmentReference])] = [
        (
            #"{"included_filters":{"filter_operator":"or","filters":[{"filter_type":"custom_segments","name":"fans"}]}}"#,
            [.name("fans")], []
        ),
        (
            #"{"is_all_user_campaign":false,"included_filters":{"filters":[{"filter_type":"custom_segments","id":"\#(id)","name":"x"}]},"#
                + #""excluded_filters":{"filters":[{"filter_type":"custom_segments","name":"away"}]}}"#,
            [.id(UUID(high: 1, low: 2))], [.name("away")]
        ),
        (
            #"{"is_all_user_campaign":true,"excluded_filters":{"filters":[{"filter_type":"custom_segments","name":"away"}]}}"#,
            [], [.name("away")]
        ),
        (#"{"filters":[{"field":"tag","key":"club","relation":"=","value":"home"}]}"#, nil, []),
    ]
    private static let id = UUID(high: 1, low: 2)

    @Test("takes segments by name or identifier, and filters", arguments: audiences)
    func audience(details: String, included: [SegmentReference]?, excluded: [SegmentReference]) async throws {
        let response = await api.createCampaign(Body.campaign.with("segmentation_details", details).text)
        #expect(response.status == 200, "\(response.text)")
        switch try #require(created.first).audience {
        case .segments(let found, let without): #expect(found == included && without == excluded)
        case .filters(let definition):
            #expect(included == nil)
            #expect(String(decoding: definition, as: UTF8.self) == details.dropFirst(11).dropLast())
        case .everybody(let without): #expect(included == [] && without == excluded)
        }
    }

    /// The body, and `code target` of each detail.
    static let wrong: [(Body, [String])] = [
        (
            Body([]),
            [
                "missing request_id", "missing channel", "missing campaign_delivery_type", "missing created_by",
                "missing basic_details", "missing segmentation_details",
            ]
        ),
        (
            .campaign.with("channel", #""SMS""#).with("campaign_delivery_type", #""ONE_TIME""#),
            ["literal_error channel", "literal_error campaign_delivery_type"]
        ),
        (.campaign.with("budget", "1"), ["extra_forbidden budget"]),
        (
            .campaign.with("basic_details", Body.campaignDetails.with("platforms", #"["ANDROID"]"#).with("name", #"" ""#).text),
            ["string_too_short basic_details.name", "literal_error basic_details.platforms"]
        ),
        (.campaign.with("segmentation_details", "{}"), ["value_error segmentation_details.included_filters"]),
        (
            .campaign.with(
                "segmentation_details",
                #"{"is_all_user_campaign":true,"filters":[{"field":"tag","key":"a","relation":"exists"}]}"#),
            ["value_error segmentation_details.included_filters"]
        ),
        (
            .campaign.with("segmentation_details", #"{"included_filters":{"filter_operator":"and","filters":[]}}"#),
            ["literal_error segmentation_details.included_filters.filter_operator"]
        ),
        (
            .campaign.with(
                "segmentation_details",
                #"{"included_filters":{"filters":[{"filter_type":"user_attributes"},{"filter_type":"custom_segments","id":"x"}]}}"#
            ),
            [
                "literal_error segmentation_details.included_filters.filters.0.filter_type",
                "value_error segmentation_details.included_filters.filters.0.id",
                "value_error segmentation_details.included_filters.filters.1.id",
            ]
        ),
        (
            .campaign.with("segmentation_details", #"{"filters":[{"field":"shoe"}]}"#),
            ["value_error segmentation_details.filters[0]"]
        ),
        (.campaign.with("apns_environments", #"["moon"]"#), ["literal_error apns_environments"]),
    ]

    @Test("says everything that is wrong at once", arguments: wrong)
    func refuses(body: Body, details: [String]) async {
        let response = await api.createCampaign(body.text)
        #expect(response.status == 400)
        #expect(response.details == details, "\(response.text)")
        #expect(api.campaigns.with { $0.admitted } == [])
    }

    @Test("is refused where the request's identifier, the name or a segment does not fit")
    func conflicts() async {
        api.campaigns.with { $0.creation = .duplicateRequest }
        let duplicate = await api.createCampaign(Body.campaign.text)
        #expect(duplicate.status == 403)
        #expect(
            duplicate.text
                == HTTPResponse.moEngageError("OperationNotAllowed", "Duplicate Request, please use different request_id"))
        api.campaigns.with { $0.creation = .takenLiveActivityID }
        #expect(
            await api.createCampaign(Body.campaign.text).details
                == ["value_error basic_details.broadcast_live_activity_id"])
        api.campaigns.with { $0.creation = .unknownSegments([.name("fans")]) }
        let details =
            #"{"included_filters":{"filters":[{"filter_type":"custom_segments","name":"fans"}]}}"#
        #expect(
            await api.createCampaign(Body.campaign.with("segmentation_details", details).text).details
                == ["value_error segmentation_details.included_filters.filters"])
        api.campaigns.with { $0.creation = .tooMany }
        #expect(await api.createCampaign(Body.campaign.text).status == 403)
        api.campaigns.with { $0.rates["create"] = .refused(retryAfterSeconds: 3) }
        let limited = await api.createCampaign(Body.campaign.text)
        #expect(limited.status == 429 && limited.text == "[]" && limited.headers["retry-after"] == "3")
    }
}
