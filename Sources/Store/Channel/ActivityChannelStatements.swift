import Gateway
import PostgreSQL

/// What activities and devices have to do with channels.
enum ActivityChannelStatements {
    static let all = [take, membership, join]

    // A channel that the activity has may be given up at this moment: it is looked at again once its row is had.
    // Free channels that somebody else takes at this moment are passed over.
    /// Gives the activity of an accepted start its channels, and its fan-out the word to put devices there: notification, app, environments
    /// the start may reach beside the app's default one. A row for each environment that has none.
    static let take = Statement(
        name: "channel_take",
        text: """
            with begun as materialized (
                select notification.notification_id, notification.activity_number, app.app_id, app.bundle_id
                from notification join app using (app_id)
                where notification.notification_id = $1),
            wanted as materialized (
                select apple.environment
                from app cross join generate_series(0, 1) as apple (environment)
                where app.app_id = $2 and (
                    apple.environment = app.default_environment
                    -- Said of each service by itself, so that an index of the few of the sandbox answers.
                    or apple.environment = 1 and exists (
                        select from start_token as token
                        where token.app_id = $2 and token.service = \(PushService.apnsSandbox.rawValue)
                            and token.type_id = (select type_id from notification where notification_id = $1))
                    or apple.environment = 0 and exists (
                        select from start_token as token
                        where token.app_id = $2 and token.service = \(PushService.apnsProduction.rawValue)
                            and token.type_id = (select type_id from notification where notification_id = $1)))),
            held as materialized (
                select channel.environment, channel.channel_id
                from begun join channel using (activity_number)
                where channel.state = 2
                order by channel.environment
                for no key update of channel),
            picked as materialized (
                select wanted.environment, free.request_id, free.channel_id
                from begun cross join wanted cross join lateral (
                    select channel.request_id, channel.channel_id
                    from channel
                    where channel.app_id = $2 and channel.bundle_id = begun.bundle_id and channel.environment = wanted.environment
                        and channel.state = 1
                    order by channel.made_at
                    limit 1
                    for update skip locked) as free
                where not exists (select from held where held.environment = wanted.environment)),
            taken as (
                update channel
                set state = 2, activity_number = begun.activity_number
                from picked, begun
                where channel.request_id = picked.request_id),
            usable as materialized (
                select environment, channel_id from held
                union all
                select environment, channel_id from picked),
            added as (
                insert into update_token as stored (activity_number, device_id, app_id, token, service, started_at)
                select begun.activity_number, -1 - usable.environment, $2, convert_to(usable.channel_id, 'UTF8'),
                    (\(PushService.broadcastProduction.rawValue) + usable.environment)::smallint, unix_seconds(clock_timestamp())
                from begun cross join usable
                on conflict (activity_number, device_id) do update
                    set token = excluded.token, started_at = excluded.started_at, ended_at = null),
            told as (
                update fan_out
                set joins_channels = true
                where notification_id = $1 and exists (select from usable))
            select wanted.environment::smallint
            from wanted
            where not exists (select from usable where usable.environment = wanted.environment)
            order by wanted.environment
            """)

    /// A device, the newest activity of a name and its channel: app, push token, activity id.
    static let membership = Statement(
        name: "channel_membership",
        text: """
            select device.device_id, device.environment, device.platform = 0 and not device.is_relayed
                    and (device.os_version is null or joins_channels(device.os_version)),
                activity.activity_number, activity.ended_at is not null, channel.channel_id, channel.policy, token.started_at
            from device
                left join lateral (
                    select * from activity
                    where activity.app_id = device.app_id and activity.activity_id = $3
                    order by activity.activity_number desc
                    limit 1) as activity on true
                left join channel on channel.activity_number = activity.activity_number and channel.state = 2
                    and channel.environment = device.environment
                left join update_token as token on token.activity_number = activity.activity_number
                    and token.device_id = -1 - device.environment
            where device.app_id = $1 and device.push_token = $2
            """)

    /// Activity, device, app.
    static let join = Statement(
        name: "channel_join",
        text: """
            insert into channel_member (activity_number, device_id, app_id) values ($1, $2, $3)
            on conflict do nothing
            """)
}
