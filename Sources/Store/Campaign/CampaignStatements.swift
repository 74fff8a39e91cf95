import Gateway
import PostgreSQL

enum CampaignStatements {
    static let all = [
        named, list, ofRequest, isNamed, count, segments, create, lock, remove, forgetRates, releaseChannels, forgetIntents,
        admit,
        wait,
    ]

    private static let seconds = "unix_seconds(clock_timestamp())"

    /// Whether an instance of that alias keeps others of its campaign from starting; see `BroadcastInstance.isRunning`.
    static func isRunning(_ alias: String) -> String {
        """
        \(alias).ended_at is null and \(alias).started_at > \(seconds) - \(ActivityWindow.updateSeconds)
            and (\(alias).dismissal_date is null or \(alias).dismissal_date > \(seconds))
            and not exists (
                select from activity
                where activity.activity_number = \(alias).activity_number and activity.ended_at is not null)
        """
    }

    private static let campaign = """
        select campaign.campaign_number, campaign.public_id, campaign.live_activity_id, campaign.name, campaign.created_by,
            campaign.audience, campaign.created_at, running.instance_id,
            (select jsonb_agg(jsonb_build_array(channel.environment, channel.channel_id, channel.policy))
            from channel
            where channel.campaign_number = campaign.campaign_number and channel.state in (2, 5))
        from campaign
            left join lateral (
                select instance_id
                from broadcast_instance as instance
                where instance.campaign_number = campaign.campaign_number and \(isRunning("instance"))
                order by instance.started_at desc
                limit 1) as running on true
        """

    /// App, name, the same as an identifier or null. What its maker chose goes before an identifier.
    static let named = Statement(
        name: "campaign_named",
        text: """
            \(campaign)
            where campaign.app_id = $1 and (campaign.live_activity_id = $2 or campaign.public_id = $3)
            order by campaign.live_activity_id = $2 desc nulls last
            limit 1
            """)

    /// App.
    static let list = Statement(
        name: "campaign_list", text: "\(campaign)\nwhere campaign.app_id = $1\norder by campaign.campaign_number")

    /// The identifier and digest of the request: app, request's identifier.
    static let ofRequest = Statement(
        name: "campaign_of_request",
        text: "select public_id, request_digest from campaign where app_id = $1 and request_id = $2")

    /// Whether a campaign is called so: app, name.
    static let isNamed = Statement(
        name: "campaign_is_named", text: "select exists (select from campaign where app_id = $1 and live_activity_id = $2)")

    /// App.
    static let count = Statement(name: "campaign_count", text: "select count(*) from campaign where app_id = $1")

    /// Segments by name or identifier: app, names, identifiers.
    static let segments = Statement(
        name: "campaign_segments",
        text: """
            select public_id, name
            from segment
            where app_id = $1 and (name = any($2::text[]) or public_id = any($3::uuid[]))
            """)

    /// App, request's identifier, digest, name for calls or null, name, maker, audience, environments.
    static let create = Statement(
        name: "campaign_create",
        text: """
            insert into campaign (app_id, request_id, request_digest, live_activity_id, name, created_by, audience, environments)
            values ($1, $2, $3, $4, $5, $6, $7::text::json, $8)
            returning campaign_number, public_id
            """)

    /// Alone with the campaign until the transaction ends: app, number.
    static let lock = Statement(
        name: "campaign_lock", text: "select 1 from campaign where app_id = $1 and campaign_number = $2 for update")

    /// App, number.
    static let remove = Statement(
        name: "campaign_remove", text: "delete from campaign where app_id = $1 and campaign_number = $2")

    /// Apple's channels are to be deleted: app, number.
    static let releaseChannels = Statement(
        name: "campaign_release_channels",
        text: """
            update channel
            set state = 3, activity_number = null, campaign_number = null
            where app_id = $1 and campaign_number = $2 and state in (2, 5)
            """)

    /// What is being made is nobody's: app, number.
    static let forgetIntents = Statement(
        name: "campaign_forget_intents",
        text: "update channel set campaign_number = null where app_id = $1 and campaign_number = $2 and state = 0")

    /// App, number.
    static let forgetRates = Statement(
        name: "campaign_forget_rates", text: "delete from campaign_rate_limit where app_id = $1 and campaign_number = $2")

    // clock_timestamp, not now: a call that waited for the row must be counted when it got it. A refusal writes nothing.
    /// Admits a call in any 60 s of so many: app, kind, campaign or 0, most.
    static let admit = Statement(
        name: "campaign_admit",
        text: """
            insert into campaign_rate_limit as kept (app_id, kind, campaign_number, calls)
            values ($1, $2, $3, array[clock_timestamp()])
            on conflict (app_id, kind, campaign_number) do update
                set calls = kept.calls[greatest(cardinality(kept.calls) - $4::int + 2, 1):] || clock_timestamp()
                where cardinality(kept.calls) < $4 or kept.calls[1] <= clock_timestamp() - interval '60 s'
            returning 1
            """)

    /// Whole seconds until a call is admitted again: app, kind, campaign or 0.
    static let wait = Statement(
        name: "campaign_wait",
        text: """
            select greatest(ceil(extract(epoch from calls[1] + interval '60 s' - clock_timestamp())), 1)::int
            from campaign_rate_limit
            where app_id = $1 and kind = $2 and campaign_number = $3
            """)
}
