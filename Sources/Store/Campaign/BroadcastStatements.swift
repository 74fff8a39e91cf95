import Gateway
import PostgreSQL

enum BroadcastStatements {
    static let all = [
        lockNames, known, runningCount, unended, overtake, begin, add, takeChannels, takeReserved, silenceEarlier, named, newest,
        change, clock, nextDismissal, dueCampaigns, due, lastState, dismissed,
    ]

    /// Seconds since 1970, as the database's clock has them.
    static let clock = Statement(name: "broadcast_clock", text: "select unix_seconds(clock_timestamp())")

    // In the order of the keys: whoever takes several takes them so.
    /// Alone with the activity of a new instance, and with those of the campaign that nobody ended, until the transaction ends: app, instance,
    /// campaign.
    static let lockNames = Statement(
        name: "broadcast_lock_names",
        text: """
            select pg_advisory_xact_lock($1, name.key)
            from (
                select hashtext($2::text) as key
                union
                select hashtext(instance_id) from broadcast_instance where campaign_number = $3 and ended_at is null
                order by key) as name
            """)

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

    /// Activities of instances that nobody ended: campaign.
    static let unended = Statement(
        name: "broadcast_unended",
        text: """
            select activity_number
            from broadcast_instance
            where campaign_number = $1 and ended_at is null
            order by activity_number
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
            insert into activity as known (activity_number, app_id, activity_id, type_id, last_timestamp)
            select \(ActivityNumber.next(app: "$1", activityID: "$2")), $1, $2, $3, coalesce(max(activity.last_timestamp), 0)
            from broadcast_instance as instance join activity using (activity_number)
            where instance.campaign_number = $4
            on conflict (app_id, activity_id) where ended_at is null do update
                set last_timestamp = greatest(known.last_timestamp, excluded.last_timestamp)
            """)

    /// Gives an activity those of the campaign's channels that are in these states: campaign, activity.
    private static func channels(inStates states: String) -> String {
        """
        taken as (
            update channel
            set state = 2, activity_number = $2
            where campaign_number = $1 and state in (\(states))
            returning app_id, environment, channel_id),
        added as (
            insert into update_token as stored (activity_number, device_id, app_id, token, service, started_at)
            select $2, -1 - environment, app_id, convert_to(channel_id, 'UTF8'),
                (\(PushService.broadcastProduction.rawValue) + environment)::smallint, unix_seconds(clock_timestamp())
            from taken
            on conflict (activity_number, device_id) do update
                set token = excluded.token, started_at = excluded.started_at, ended_at = null)
        """
    }

    /// The campaign's channels serve this instance from now on: campaign, activity, the start's notification.
    static let takeChannels = Statement(
        name: "broadcast_take_channels",
        text: """
            with \(channels(inStates: "2, 5"))
            update fan_out
            set joins_channels = true
            where notification_id = $3 and exists (select from taken)
            """)

    /// So do those that were made since it began, in the place of lost ones or late: campaign, activity.
    static let takeReserved = Statement(
        name: "broadcast_take_reserved", text: "with \(channels(inStates: "5"))\nselect count(*) from taken")

    // Apple keeps the most recent message for phones that are away: a late one of an earlier instance would take the place of this one's. Until
    // this one says something there, an earlier one's end may go on: its cards are on phones of that channel.
    /// Takes the channels from the campaign's earlier instances: campaign, activity.
    static let silenceEarlier = Statement(
        name: "broadcast_silence_earlier",
        text: """
            with held as materialized (
                select token.activity_number, token.device_id
                from update_token as token
                where token.device_id < 0 and token.activity_number = any(array(
                    select activity_number from broadcast_instance where campaign_number = $1 and activity_number <> $2))
                order by token.activity_number, token.device_id
                for update)
            delete from update_token as token
            using held
            where token.activity_number = held.activity_number and token.device_id = held.device_id
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

    // MARK: Dismissal

    private static let isDue = "ended_at is null and dismissal_date <= (select unix_seconds(clock_timestamp()))"

    /// Seconds until the next dismissal date.
    static let nextDismissal = Statement(
        name: "broadcast_next_dismissal",
        text: """
            select min(dismissal_date) - unix_seconds(clock_timestamp())
            from broadcast_instance
            where ended_at is null and dismissal_date is not null
            """)

    /// Apps and campaigns of instances whose date has come: most of them.
    static let dueCampaigns = Statement(
        name: "broadcast_due_campaigns",
        text: """
            select app_id, campaign_number
            from broadcast_instance
            where \(isDue)
            order by dismissal_date
            limit $1
            """)

    /// The instances of a campaign whose date has come: campaign.
    static let due = Statement(
        name: "broadcast_due",
        text: """
            select \(columns)
            from broadcast_instance as instance
            where campaign_number = $1 and \(isDue)
            order by instance.activity_number
            """)

    /// What was pushed of an instance last: app, instance.
    static let lastState = Statement(
        name: "broadcast_last_state",
        text: """
            select notification.name, notification.event, notification.content
            from broadcast_instance as instance
                join activity using (activity_number)
                join lateral (
                    select name, event, content
                    from notification
                    where notification.activity_number = activity.activity_number
                    order by notification_id desc
                    limit 1) as notification on true
            where instance.app_id = $1 and instance.instance_id = $2
            """)

    /// App, instance.
    static let dismissed = Statement(
        name: "broadcast_dismissed",
        text: """
            update broadcast_instance
            set ended_at = clock_timestamp(), was_dismissed = true
            where app_id = $1 and instance_id = $2 and ended_at is null
            """)
}
