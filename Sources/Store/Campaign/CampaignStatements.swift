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

enum BroadcastStatements {
    static let all = [known, runningCount, overtake, begin, add, takeChannels, named, newest, change, clock]

    /// Seconds since 1970, as the database's clock has them.
    static let clock = Statement(name: "broadcast_clock", text: "select unix_seconds(clock_timestamp())")

    // A device may have told of an activity of that name, which then was never pushed to.
    /// Whether an instance or an activity was called so before: app, instance.
    static let known = Statement(
        name: "broadcast_known",
        text: """
            select exists (select from broadcast_instance where app_id = $1 and instance_id = $2)
                or exists (select from activity where app_id = $1 and activity_id = $2 and last_timestamp > 0)
            """)

    /// Campaign.
    static let runningCount = Statement(
        name: "broadcast_running_count",
        text: """
            select count(*) from broadcast_instance as instance
            where campaign_number = $1 and \(CampaignStatements.isRunning("instance"))
            """)

    /// The campaign's channels are another instance's from now on: campaign.
    static let overtake = Statement(
        name: "broadcast_overtake",
        text: """
            with over as (
                update broadcast_instance as instance
                set ended_at = clock_timestamp(), was_dismissed = coalesce(dismissal_date <= unix_seconds(clock_timestamp()), false)
                where campaign_number = $1 and ended_at is null
                returning activity_number)
            update activity
            set ended_at = clock_timestamp()
            from over
            where activity.activity_number = over.activity_number and activity.ended_at is null
            """)

    // What a phone is late in getting of an earlier instance, through the same channel, is older than all of this one.
    /// The activity of an instance, behind the states of the campaign's earlier ones: app, instance, type, campaign.
    static let begin = Statement(
        name: "broadcast_begin",
        text: """
            insert into activity as known (app_id, activity_id, type_id, last_timestamp)
            select $1, $2, $3, coalesce(max(activity.last_timestamp), 0)
            from broadcast_instance as instance join activity using (activity_number)
            where instance.campaign_number = $4
            on conflict (app_id, activity_id) where ended_at is null do update
                set last_timestamp = greatest(known.last_timestamp, excluded.last_timestamp)
            """)

    /// The campaign's channels serve this instance from now on: campaign, activity, the start's notification.
    static let takeChannels = Statement(
        name: "broadcast_take_channels",
        text: """
            with taken as (
                update channel
                set state = 2, activity_number = $2
                where campaign_number = $1 and state in (2, 5)
                returning app_id, environment, channel_id),
            added as (
                insert into update_token as stored (activity_number, device_id, app_id, token, service, started_at)
                select $2, -1 - environment, app_id, convert_to(channel_id, 'UTF8'),
                    (\(PushService.broadcastProduction.rawValue) + environment)::smallint, unix_seconds(clock_timestamp())
                from taken
                on conflict (activity_number, device_id) do update
                    set token = excluded.token, started_at = excluded.started_at, ended_at = null)
            update fan_out
            set joins_channels = true
            where notification_id = $3 and exists (select from taken)
            """)

    /// App, instance, campaign, the start's notification, dismissal date or null.
    static let add = Statement(
        name: "broadcast_add",
        text: """
            insert into broadcast_instance (app_id, instance_id, campaign_number, activity_number, started_at, dismissal_date)
            select $1, $2, $3, activity_number, unix_seconds(clock_timestamp()), $5
            from notification
            where notification_id = $4
            returning activity_number
            """)

    private static let columns = """
        instance.instance_id, instance.started_at, instance.dismissal_date, instance.ended_at is not null, instance.was_dismissed,
            instance.latest_digest
        """

    /// App, instance, campaign.
    static let named = Statement(
        name: "broadcast_named",
        text: """
            select \(columns)
            from broadcast_instance as instance
            where app_id = $1 and instance_id = $2 and campaign_number = $3
            """)

    /// Campaign.
    static let newest = Statement(
        name: "broadcast_newest",
        text: """
            select \(columns)
            from broadcast_instance as instance
            where campaign_number = $1
            order by started_at desc, activity_number desc
            limit 1
            """)

    /// App, instance, digest, dismissal date or null for what it was, whether it ends, whether because its dismissal date has come.
    static let change = Statement(
        name: "broadcast_change",
        text: """
            update broadcast_instance
            set latest_digest = $3, dismissal_date = coalesce($4, dismissal_date),
                ended_at = case when $5::boolean then clock_timestamp() end, was_dismissed = $6
            where app_id = $1 and instance_id = $2
            """)
}
