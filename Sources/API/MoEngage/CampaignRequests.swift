import Gateway
import HTTP
import JSON
import Security

/// Reads the body that creates a campaign: the members of MoEngage's that mean something here, strictly; those of its other kinds of
/// campaigns may be there and mean nothing.
enum CampaignRequests {
    static let deliveryType = "BROADCAST_LIVE_ACTIVITY"
    /// Longest address of who made a campaign, in bytes. Source: RFC 5321.
    static let creatorByteCount = 320
    /// The kind of filter that names a segment.
    static let segmentFilter = "custom_segments"

    static func create(_ request: HTTPRequest, application: Application) throws(Refusal) -> NewCampaign {
        var reader = try PayloadReader(request)
        let requestID = reader.identifier("request_id")
        literal("channel", ["PUSH"], &reader)
        literal("campaign_delivery_type", [deliveryType], &reader)
        let creator = reader.text("created_by")
        if let creator, creator.utf8.count > creatorByteCount { reader.report("created_by", .tooLong(creatorByteCount)) }
        if let creator, creator.utf8.contains(0) { reader.report("created_by", .pattern("^\\P{Cc}*$")) }
        let details = reader.nested("basic_details", basicDetails)
        let audience = reader.nested("segmentation_details", readAudience)
        let environments = readEnvironments(&reader, application)
        reader.ignore(
            "campaign_content", "scheduling_details", "delivery_controls", "advanced", "trigger_condition",
            "conversion_goal_details", "control_group_details", "utm_params", "campaign_audience_limit")
        try reader.finish()
        guard let requestID, let creator, let details, let audience else {
            preconditionFailure("a required field is neither there nor reported")
        }
        return NewCampaign(
            requestID: requestID, digest: SHA256.digest(request.body), liveActivityID: details.liveActivityID, name: details.name,
            createdBy: creator, audience: audience, environments: environments)
    }

    private static func literal(_ name: String, _ allowed: [String], _ reader: inout PayloadReader) {
        guard let text = reader.text(name) else { return }
        if !allowed.contains(where: { $0.utf8.elementsEqual(text.utf8) }) { reader.report(name, .oneOf(allowed)) }
    }

    private static func basicDetails(_ reader: inout PayloadReader) -> (name: String, liveActivityID: String?)? {
        let name = reader.text("name")
        if let name {
            let isBlank = FieldRule.isBlank(name)
            if isBlank { reader.report("name", .tooShort) }
            if name.unicodeScalars.count > AdmissionLimits.nameCharacterCount {
                reader.report("name", .tooLong(AdmissionLimits.nameCharacterCount))
            }
            if name.utf8.contains(0) { reader.report("name", .pattern("^\\P{Cc}+$")) }
        }
        let liveActivityID = reader.identifier("broadcast_live_activity_id", isRequired: false)
        if let platforms = reader.value("platforms") {
            let isRight = platforms.kind == .array && platforms.elements.map(\.string) == ["IOS"]
            if !isRight { reader.report("platforms", platforms.kind == .array ? .oneOf(["IOS"]) : .list) }
        }
        reader.ignore("tags", "platform_specific_details", "content_type", "team")
        return name.map { ($0, liveActivityID) }
    }

    // MARK: Audience

    /// Exactly one of everybody, segments, and filters; the latter are ours.
    private static func readAudience(_ reader: inout PayloadReader) -> CampaignAudience? {
        var isEverybody = false
        if let value = reader.value("is_all_user_campaign") {
            if let bool = value.bool { isEverybody = bool } else { reader.report("is_all_user_campaign", .boolean) }
        }
        reader.ignore("send_campaign_to_opt_out_users")
        let included = segments("included_filters", &reader)
        let excluded = segments("excluded_filters", &reader) ?? []
        let filters = readFilters(&reader)
        let given = [isEverybody, included != nil, filters != nil].filter { $0 }.count
        guard given == 1 else {
            // What is there and wrong was reported.
            if given > 1 || reader.details.isEmpty {
                reader.report(
                    "included_filters", .value("give exactly one of is_all_user_campaign, included_filters and filters"))
            }
            return nil
        }
        if let filters {
            if !excluded.isEmpty {
                reader.report("excluded_filters", .value("is only allowed beside included_filters and is_all_user_campaign"))
            }
            return .filters(filters)
        }
        return included.map { .segments(included: $0, excluded: excluded) } ?? .everybody(excluded: excluded)
    }

    private static func segments(_ name: String, _ reader: inout PayloadReader) -> [SegmentReference]? {
        reader.nested(name, isRequired: false) { group -> [SegmentReference]? in
            if let conjunction = group.text("filter_operator", isRequired: false), conjunction.lowercased() != "or" {
                group.report("filter_operator", .oneOf(["or"]))
            }
            let references = group.list("filters", limit: AdmissionLimits.segmentCount) { filter -> SegmentReference? in
                literal("filter_type", [segmentFilter], &filter)
                let id = filter.text("id", isRequired: false)
                let name = filter.text("name", isRequired: false)
                filter.ignore("count", "operator")
                if let id {
                    guard let uuid = UUID(id) else {
                        filter.report("id", .value("must be a UUID"))
                        return nil
                    }
                    return .id(uuid)
                }
                guard let name, !name.utf8.contains(0) else {
                    filter.report("id", .value("a segment has an id or a name"))
                    return nil
                }
                return .name(name)
            }
            if references == [], group.details.isEmpty { group.report("filters", .value("name at least one segment")) }
            return references
        }
    }

    private static func readFilters(_ reader: inout PayloadReader) -> [UInt8]? {
        guard let value = reader.value("filters") else { return nil }
        do throws(FieldErrors) {
            _ = try FilterParser.parse(value, field: "filters")
            return Array(value.rawBytes)
        } catch {
            for found in error.errors { reader.report(found.field, .value(found.problem.description)) }
            return nil
        }
    }

    /// Where the campaign gets channels, which is ours: the app's environment unless the caller says others.
    private static func readEnvironments(_ reader: inout PayloadReader, _ application: Application) -> [PushEnvironment] {
        guard let value = reader.value("apns_environments") else { return [application.defaultEnvironment] }
        let names = value.elements.map { $0.string.flatMap { PushEnvironment(name: $0) } }
        let environments = names.compactMap { $0 }
        guard value.kind == .array, !names.isEmpty, environments.count == names.count,
            Set(environments).count == names.count
        else {
            reader.report(
                "apns_environments", value.kind == .array ? .oneOf(PushEnvironment.allCases.map(\.name)) : .list)
            return []
        }
        return environments
    }
}
