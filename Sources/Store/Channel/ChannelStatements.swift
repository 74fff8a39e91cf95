import Gateway
import PostgreSQL

/// The states of `channel.state`.
enum ChannelState: Int16 {
    case intended = 0
    case free = 1
    case used = 2
    case leaving = 3
    case foreign = 4
    /// A campaign's, between its instances; while one runs it is used.
    case reserved = 5
}

enum ChannelStatements {
    static let all = [
        census, addPlace, keep, leave, lockPlace, intend, wasMade, wasNotMade, retireFree, lockOver, retireOver, claimLeaving,
        isGone,
        postpone, giveUp,
    ]

    private static let isOver = """
        (activity.activity_number is null
            or activity.ended_at is not null and finished.is_finished
            or activity.ended_at is null and not exists (
                select from update_token as token
                where token.activity_number = channel.activity_number and token.device_id < 0
                    and token.started_at > unix_seconds(now()) - \(ActivityWindow.endSeconds)))
        """

    // The end of an activity is its latest notification; without a row of its fan-out that was finished long ago.
    private static let activityOfChannel = """
        left join activity on activity.activity_number = channel.activity_number
            left join lateral (
                select coalesce(bool_and(fan_out.finished_at is not null), true) as is_finished
                from fan_out
                where fan_out.notification_id = activity.latest_notification) as finished on true
        """

    /// Whether a campaign has a channel, or one was asked for.
    private static func hasChannel(_ campaign: String, in environment: String) -> String {
        """
        exists (
            select from channel as owned
            where owned.campaign_number = \(campaign) and owned.environment = \(environment) and owned.state in (0, 2, 5))
        """
    }

    // Places are those of apps that are switched on, in their default environment and wherever a start has asked for a channel, and those
    // where channels are left.
    /// Every place with its counts: whether channels whose activity is over are looked for, which costs more than all the rest.
    static let census = Statement(
        name: "channel_census",
        text: """
            with place as (
                select app.app_id, apple.environment::smallint as environment
                from app cross join generate_series(0, 1) as apple (environment)
                where app.broadcast_channels and app.bundle_id is not null and app.key_id is not null
                    and (apple.environment = app.default_environment or exists (
                        select from channel_place as known
                        where known.bundle_id = app.bundle_id and known.environment = apple.environment))
                union
                select app_id, environment from channel where state <> \(ChannelState.foreign.rawValue)
                union
                select app_id, unnest(environments) from campaign),
            counted as (
                select channel.app_id, channel.environment,
                    count(*) filter (where state = 0) as intended,
                    count(*) filter (where state = 0 and busy_until < clock_timestamp()) as unresolved,
                    count(*) filter (where state = 1) as free, count(*) filter (where state in (2, 5)) as used,
                    count(*) filter (where state = 3) as leaving,
                    count(*) filter (where state = 3 and coalesce(busy_until < clock_timestamp(), true)) as deletable
                from channel
                group by channel.app_id, channel.environment),
            ended as (
                select channel.app_id, channel.environment, count(*) as over
                from channel \(activityOfChannel)
                where $1::boolean and channel.state = 2 and channel.campaign_number is null and \(isOver)
                group by channel.app_id, channel.environment),
            total as (
                select bundle_id, environment, count(*) as channels, count(*) filter (where state = 4) as others
                from channel
                group by bundle_id, environment)
            select \(Application.columns), place.environment, coalesce(counted.intended, 0), coalesce(counted.unresolved, 0),
                coalesce(counted.free, 0), coalesce(counted.used, 0), coalesce(counted.leaving, 0), coalesce(counted.deletable, 0),
                coalesce(ended.over, 0), coalesce(total.channels, 0), coalesce(total.others, 0),
                extract(epoch from clock_timestamp() - known.listed_at)::bigint,
                (select jsonb_agg(lacking.campaign_number)
                from (
                    select campaign.campaign_number
                    from campaign
                    where campaign.app_id = place.app_id and place.environment = any(campaign.environments)
                        and not \(hasChannel("campaign.campaign_number", in: "place.environment"))
                    order by campaign.campaign_number
                    limit \(Store.campaignChannelCount)) as lacking)
            from place join app using (app_id)
                left join counted using (app_id, environment)
                left join ended using (app_id, environment)
                left join total on total.bundle_id = app.bundle_id and total.environment = place.environment
                left join channel_place as known on known.bundle_id = app.bundle_id and known.environment = place.environment
            where app.bundle_id is not null and app.key_id is not null
            order by app.app_id, place.environment
            """)

    // MARK: Looking after a place

    /// Bundle identifier, environment.
    static let addPlace = Statement(
        name: "channel_add_place",
        text: "insert into channel_place (bundle_id, environment) values ($1, $2) on conflict do nothing")

    /// Bundle identifier, environment, seconds. A row when nobody else does.
    static let keep = Statement(
        name: "channel_keep",
        text: """
            update channel_place
            set kept_until = clock_timestamp() + $3::int * interval '1 second'
            where bundle_id = $1 and environment = $2 and kept_until < clock_timestamp()
            returning 1
            """)

    /// Bundle identifier, environment.
    static let leave = Statement(
        name: "channel_leave",
        text: "update channel_place set kept_until = '-infinity' where bundle_id = $1 and environment = $2")

    // MARK: Making

    /// Waits for who begins or ends a comparison: bundle identifier, environment. Whether it was ever compared, and is being now.
    static let lockPlace = Statement(
        name: "channel_lock_place",
        text: """
            select listed_at is not null, listing_until > clock_timestamp()
            from channel_place
            where bundle_id = $1 and environment = $2
            for no key update
            """)

    // The campaign is held until the commit: whoever removes it then finds the intent.
    /// App, bundle identifier, environment, policy, seconds, campaign or null. No row when the campaign has one or is gone.
    static let intend = Statement(
        name: "channel_intend",
        text: """
            insert into channel (app_id, bundle_id, environment, policy, state, busy_until, campaign_number)
            select $1, $2, $3, $4, 0, clock_timestamp() + $5::int * interval '1 second', $6::bigint
            where $6 is null
                or exists (select from campaign where app_id = $1 and campaign_number = $6 for key share) and not \(hasChannel("$6", in: "$3"))
            returning request_id
            """)

    // Where the intent is gone, somebody compared with Apple's list meanwhile and nobody waits for the channel any more: it may stand
    // there as one of others', and is to be deleted.
    /// Request, channel, app, bundle identifier, environment.
    static let wasMade = Statement(
        name: "channel_was_made",
        text: """
            with kept as (
                update channel
                set state = case when campaign_number is null then 1 else 5 end, channel_id = $2, made_at = clock_timestamp(), busy_until = null
                where request_id = $1 and state = 0
                returning 1)
            insert into channel (app_id, bundle_id, environment, policy, state, channel_id)
            select $3, $4, $5, 1, 3, $2
            where not exists (select from kept)
            on conflict (bundle_id, environment, channel_id) do update
                set state = 3
                where channel.state = 4
            """)

    static let wasNotMade = Statement(
        name: "channel_was_not_made", text: "delete from channel where request_id = $1 and state = 0")

    // MARK: Deleting

    /// App, environment.
    static let retireFree = Statement(
        name: "channel_retire_free",
        text: """
            with idle as (
                select request_id from channel where app_id = $1 and environment = $2 and state = 1 for update skip locked)
            update channel set state = 3 from idle where channel.request_id = idle.request_id
            """)

    private static let isOverFor = """
        channel.state = 2 and channel.campaign_number is null and \(isOver)
            and (activity.ended_at is null or activity.ended_at < clock_timestamp() - $3::bigint * interval '1 second')
        """

    // Whoever starts, updates or ends the activity holds the lock of its name; one that is busy is left for the next time.
    /// Channels whose activity is over, and whether it is locked: app, environment, seconds since the end.
    static let lockOver = Statement(
        name: "channel_lock_over",
        text: """
            with seen as materialized (
                select channel.request_id, activity.app_id, activity.activity_id
                from channel \(activityOfChannel)
                where channel.app_id = $1 and channel.environment = $2 and \(isOverFor)
                order by channel.made_at
                limit \(Store.retiredChannelCount))
            select request_id, activity_id is null or pg_try_advisory_xact_lock(app_id, hashtext(activity_id)) from seen
            """)

    // A statement of its own: what was over when the first one looked may have been started again before its name was locked.
    /// The same of channels whose activities are locked: app, environment, seconds since the end, channels.
    static let retireOver = Statement(
        name: "channel_retire_over",
        text: """
            with over as (
                select channel.request_id
                from channel \(activityOfChannel)
                where channel.app_id = $1 and channel.environment = $2 and channel.request_id = any($4::uuid[]) and \(isOverFor)
                order by channel.request_id
                for update of channel skip locked)
            update channel set state = 3, activity_number = null from over where channel.request_id = over.request_id
            """)

    /// App, environment, how many, seconds.
    static let claimLeaving = Statement(
        name: "channel_claim_leaving",
        text: """
            with claimed as (
                select request_id
                from channel
                where app_id = $1 and environment = $2 and state = 3 and (busy_until is null or busy_until < clock_timestamp())
                order by made_at
                limit $3::int
                for update skip locked)
            update channel
            set busy_until = clock_timestamp() + $4::int * interval '1 second'
            from claimed
            where channel.request_id = claimed.request_id
            returning channel.request_id, channel.channel_id
            """)

    static let isGone = Statement(name: "channel_is_gone", text: "delete from channel where request_id = $1 and state = 3")

    /// Request, seconds.
    static let postpone = Statement(
        name: "channel_postpone",
        text: """
            update channel
            set busy_until = clock_timestamp() + $2::int * interval '1 second'
            where request_id = $1 and state = 3
            """)

    /// Channels that Apple refused pushes to: notifications, channels.
    static let giveUp = Statement(
        name: "channel_give_up",
        text: """
            update channel
            set state = 3, activity_number = null, campaign_number = null
            from unnest($1::bigint[], $2::text[]) as told (notification_id, channel_id)
                join notification using (notification_id)
            where channel.activity_number = notification.activity_number and channel.channel_id = told.channel_id
                and channel.state = 2
            """)
}
