import PostgreSQL

/// What a comparison with Apple's list asks and changes.
enum ChannelListingStatements {
    static let all = [
        isAllowed, begin, lock, known, forget, adopt, forgetIntents, addForeign, end, abandon,
    ]

    /// With the place locked: whether no request of it may be under way. Bundle identifier, environment.
    static let isAllowed = Statement(
        name: "channel_is_listing_allowed",
        text: """
            select not exists (
                select from channel
                where bundle_id = $1 and environment = $2 and busy_until > clock_timestamp())
            """)

    /// Bundle identifier, environment, seconds.
    static let begin = Statement(
        name: "channel_begin_listing",
        text: """
            update channel_place
            set listing = gen_random_uuid(), listing_until = clock_timestamp() + $3::int * interval '1 second'
            where bundle_id = $1 and environment = $2
            returning listing
            """)

    /// Bundle identifier, environment, listing. A row while it may be ended.
    static let lock = Statement(
        name: "channel_lock_listing",
        text: """
            select 1
            from channel_place
            where bundle_id = $1 and environment = $2 and listing = $3 and listing_until > clock_timestamp()
            for no key update
            """)

    /// Everything stored of a place: identifier or null, state, whether Apple's list must have it.
    static let known = Statement(
        name: "channel_known",
        text: """
            select channel_id, state, state in (1, 2, 5) and made_at < clock_timestamp() - interval '\(Store.channelListingLagSeconds) seconds'
            from channel
            where bundle_id = $1 and environment = $2
            """)

    /// Takes channels away that Apple no longer has, from their activities as well: bundle identifier, environment, channels.
    static let forget = Statement(
        name: "channel_forget",
        text: """
            with gone as (
                delete from channel
                where bundle_id = $1 and environment = $2 and channel_id = any($3::text[])
                returning activity_number, environment),
            silenced as (
                delete from update_token as token
                using gone
                where token.activity_number = gone.activity_number and token.device_id = -1 - gone.environment)
            select count(*), count(activity_number) from gone
            """)

    /// Ours that nobody knew of, to be deleted: app, bundle identifier, environment, channels.
    static let adopt = Statement(
        name: "channel_adopt",
        text: """
            insert into channel (app_id, bundle_id, environment, policy, state, channel_id)
            select $1, $2, $3, 1, 3, channel_id from unnest($4::text[]) as channel_id
            on conflict do nothing
            """)

    /// Whatever became of them is known now: bundle identifier, environment.
    static let forgetIntents = Statement(
        name: "channel_forget_intents", text: "delete from channel where bundle_id = $1 and environment = $2 and state = 0")

    /// The same as `adopt` of others' channels.
    static let addForeign = Statement(
        name: "channel_add_foreign",
        text: """
            insert into channel (app_id, bundle_id, environment, policy, state, channel_id)
            select $1, $2, $3, 1, 4, channel_id from unnest($4::text[]) as channel_id
            on conflict do nothing
            """)

    /// Bundle identifier, environment.
    static let end = Statement(
        name: "channel_end_listing",
        text: """
            update channel_place
            set listing = null, listing_until = '-infinity', listed_at = clock_timestamp()
            where bundle_id = $1 and environment = $2
            """)

    /// Bundle identifier, environment, listing.
    static let abandon = Statement(
        name: "channel_abandon_listing",
        text: """
            update channel_place
            set listing = null, listing_until = '-infinity'
            where bundle_id = $1 and environment = $2 and listing = $3
            """)
}
