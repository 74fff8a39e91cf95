-- openpushd: the whole schema, version 1.
--
-- Applying it again changes nothing, also when two processes do so at once: everything happens in one transaction behind one lock.
-- Times are timestamptz where the server's clock gives them, and seconds since 1970 (bigint) where a device or a caller gives them.

begin;
set local client_min_messages = warning;
set local statement_timeout = 0;  -- an index on a large table takes its time
select pg_advisory_xact_lock(hashtext('openpushd schema'));

create table if not exists schema_version (
    version     int primary key,
    applied_at  timestamptz not null default now()
);
do $$
begin
    if exists (select from schema_version where version > 1) then
        raise exception 'this database has a newer schema than this program knows';
    end if;
end $$;

-- Functions of moments are written with intervals: `extract` from a timestamptz is not immutable, and a function that calls it is not
-- inlined, which costs some 2 microseconds a call.

-- Identifiers that carry the time: 41 bits of milliseconds since 2020-01-01, then 22 bits of sequence. A range of identifiers is a
-- range of time, so that a table can be partitioned by day and still have a primary key that is unique over all partitions.
create sequence if not exists time_ordered_id_sequence;

create or replace function time_ordered_id(moment timestamptz, number bigint) returns bigint
    language sql immutable parallel safe
    return (((date_part('epoch', moment - timestamptz 'epoch') * 1000)::bigint - 1577836800000) << 22) | (number & 4194303);

create or replace function new_time_ordered_id() returns bigint
    language sql volatile
    return time_ordered_id(clock_timestamp(), nextval('time_ordered_id_sequence'));

-- How long after a notification was stored something happened, in milliseconds, for delivery.at_ms (24 days at most).
create or replace function milliseconds_after(notification_id bigint, moment timestamptz) returns int
    language sql immutable parallel safe
    return least(
        greatest((date_part('epoch', moment - timestamptz 'epoch') * 1000)::bigint - ((notification_id >> 22) + 1577836800000), 0), 2147483647)::int;

create or replace function unix_seconds(moment timestamptz) returns bigint
    language sql immutable parallel safe
    return floor(date_part('epoch', moment - timestamptz 'epoch'))::bigint;

-- Sums two objects of counts by key, such as {"402": 3} and {"402": 1, "425": 2}; what is taken back has a number below zero.
create or replace function add_counts(counts jsonb, more jsonb) returns jsonb
    language sql immutable parallel safe
    return coalesce(
        (select jsonb_object_agg(key, total)
         from (select key, sum(value::bigint) as total
               from (select * from jsonb_each_text(counts) union all select * from jsonb_each_text(more)) as entry
               group by key
               having sum(value::bigint) <> 0) as summed),
        '{}');

create or replace aggregate sum_counts(jsonb) (sfunc = add_counts, stype = jsonb, initcond = '{}');

-- Tenants and credentials ----------------------------------------------------------------------------------------------------------

-- A .p8 key, sealed with the master key of the configuration.
create table if not exists signing_key (
    team_id     text collate "C" not null check (octet_length(team_id) between 1 and 32),
    key_id      text collate "C" not null check (octet_length(key_id) between 1 and 32),
    sealed_pem  bytea not null,
    stored_at   timestamptz not null default now(),
    primary key (team_id, key_id)
);

-- The provider token that all daemons use now, sealed as well.
create table if not exists provider_token (
    team_id       text collate "C" not null,
    key_id        text collate "C" not null,
    sealed_token  bytea not null,
    issued_at     bigint not null,  -- seconds since 1970
    primary key (team_id, key_id)
);

-- When a token was last replaced because APNs refused it, by this database's clock: that of whoever issued it may be what is wrong with it.
alter table provider_token add column if not exists forced_at timestamptz;

create table if not exists app (
    app_id               int generated always as identity primary key,
    public_id            uuid not null unique default gen_random_uuid(),
    name                 text not null check (char_length(name) between 1 and 128),
    bundle_id            text check (octet_length(bundle_id) between 1 and 155),
    team_id              text collate "C",
    key_id               text collate "C",
    default_environment  smallint not null check (default_environment in (0, 1)),  -- production, sandbox
    created_at           timestamptz not null default now(),
    foreign key (team_id, key_id) references signing_key
);

-- An app may be on iOS, on Android or on both; its iOS devices are reached by its own signing key, or through FCM.
alter table app alter column bundle_id drop not null;
alter table app alter column team_id drop not null;
alter table app alter column key_id drop not null;
alter table app add column if not exists android_package_name text check (octet_length(android_package_name) between 1 and 155);
alter table app add column if not exists fcm_project_id text collate "C";
alter table app add column if not exists fcm_key_id text collate "C";

-- A service account's JSON file, sealed with the master key of the configuration, and the access token that all daemons use now.
create table if not exists service_account (
    project_id    text collate "C" not null check (octet_length(project_id) between 1 and 128),
    key_id        text collate "C" not null check (octet_length(key_id) between 1 and 128),
    sealed_json   bytea not null,
    stored_at     timestamptz not null default now(),
    sealed_token  bytea,
    expires_at    bigint,  -- of the token, seconds since 1970
    primary key (project_id, key_id),
    check ((sealed_token is null) = (expires_at is null))
);

-- How devices come in without a key: whether their routes are open, and the public key (PEM, P-256) of the backend that says who a user
-- is, with whether it must.
alter table app add column if not exists device_routes_open boolean not null default false;
alter table app add column if not exists identity_key bytea;
alter table app add column if not exists identity_required boolean not null default false;
-- Whether Customer.io's routes answer.
alter table app add column if not exists live_notifications boolean not null default false;
-- Whether starts put devices on broadcast channels.
alter table app add column if not exists broadcast_channels boolean not null default false;

create table if not exists api_key (
    public_id   uuid primary key default gen_random_uuid(),
    app_id      int not null references app,
    kind        smallint not null check (kind in (0, 1, 2)),  -- rest, client, read
    digest      bytea not null unique check (octet_length(digest) = 32),  -- SHA-256 of the key; the key itself is nowhere
    created_at  timestamptz not null default now(),
    revoked_at  timestamptz
);
create index if not exists api_key_app on api_key (app_id);

-- The latest 60 calls of an app. Losing it in a crash of the server forgives one minute.
create unlogged table if not exists rate_limit (
    app_id  int primary key,
    calls   timestamptz[] not null check (cardinality(calls) between 1 and 60)
) with (fillfactor = 30);

-- The latest 10 calls of an app to Customer.io's routes, likewise.
create unlogged table if not exists instance_rate_limit (
    app_id  int primary key,
    calls   timestamptz[] not null check (cardinality(calls) between 1 and 10)
) with (fillfactor = 30);

-- The latest calls to MoEngage's routes, likewise: of a workspace (campaign 0) and of a campaign.
create unlogged table if not exists campaign_rate_limit (
    app_id           int not null,
    kind             smallint not null check (kind between 0 and 3),  -- a CampaignCall
    campaign_number  bigint not null,
    calls            timestamptz[] not null check (cardinality(calls) between 1 and 500),
    primary key (app_id, kind, campaign_number)
) with (fillfactor = 30);

-- Devices --------------------------------------------------------------------------------------------------------------------------

-- A token as it is stored: Android devices have none but their push_token, and where FCM passes on to APNs that one stands behind
-- ActivityKit's (a RelayedToken).
create or replace function stored_token(service smallint, token bytea, push_token bytea) returns bytea
    language sql immutable parallel safe
    return case service
        when 2 then coalesce(push_token, token)
        -- A device that has not told FCM's yet gets it put behind when it does.
        when 3 then set_byte('\x00'::bytea, 0, octet_length(token)) || token || coalesce(push_token, '')
        else token end;

-- ActivityKit's token of a stored one; Android's own.
create or replace function bare_token(service smallint, token bytea) returns bytea
    language sql immutable parallel safe
    return case when service = 3 then substring(token from 2 for get_byte(token, 0)) else token end;

create table if not exists activity_type (
    type_id  int generated always as identity primary key,
    app_id   int not null references app,
    name     text collate "C" not null check (octet_length(name) between 1 and 128),
    unique (app_id, name)
);

create table if not exists device (
    app_id             int not null,
    device_id          bigint not null generated always as identity,
    public_id          uuid not null default gen_random_uuid(),  -- subscription_id
    push_token         bytea not null check (octet_length(push_token) between 1 and 1024),
    environment        smallint not null check (environment in (0, 1)),
    external_id        text collate "C",  -- also an alias, under the label external_id
    language           text,
    country            text,
    app_version        text,
    app_version_parts  bigint[],  -- dotted numbers without trailing zeros; null when app_version is something else
    os_version         text,
    time_zone          text,
    session_count      bigint not null default 0 check (session_count >= 0),
    first_session      bigint,  -- seconds since 1970
    last_session       bigint,  -- seconds since 1970
    tags               jsonb not null default '{}',  -- the same as device_tag, for conditions other than equality
    registered_at      timestamptz not null default now(),
    primary key (app_id, device_id),
    unique (app_id, push_token),
    unique (app_id, public_id)
) with (fillfactor = 80);

do $$
begin
    -- FCM's tokens are longer than those that were known first. Only once: all rows are looked at.
    if exists (
        select from pg_constraint
        where conrelid = 'device'::regclass and conname = 'device_push_token_check' and pg_get_constraintdef(oid) like '% 200)%')
    then
        alter table device drop constraint device_push_token_check,
            add constraint device_push_token_check check (octet_length(push_token) between 1 and 1024);
    end if;
end $$;
-- iOS (0): push_token is the device's token of APNs, or FCM's where the app's iOS devices are behind FCM. Android (1): FCM's.
alter table device add column if not exists platform smallint not null default 0 check (platform in (0, 1));
-- Whether ActivityKit's tokens of this iOS device go through FCM, to push_token.
alter table device add column if not exists is_relayed boolean not null default false;
alter table device add column if not exists service smallint not null generated always as (
    case when platform = 1 then 2 when is_relayed then 3 else environment end) stored;  -- a PushService
-- A device may have an identifier before iOS tells its token.
alter table device alter column push_token drop not null;
alter table device add column if not exists latitude double precision check (latitude between -90 and 90);
alter table device add column if not exists longitude double precision check (longitude between -180 and 180);
-- What the app said of ordinary notifications.
alter table device add column if not exists notifications_enabled boolean not null default true;
-- Of all sessions together.
alter table device add column if not exists session_seconds bigint not null default 0 check (session_seconds >= 0);
-- When its user, or a name of a user that only aliases name, was last taken from it, and in which transaction: a start that named the user
-- before that is not for whoever has the device since.
alter table device add column if not exists user_left_at timestamptz;
alter table device add column if not exists user_left_in xid8;

-- What audiences find tags by: comparing one whole number takes less than half the time of comparing two texts. That two tags have the
-- same one is a chance of 1 in 2^64.
create or replace function tag_hash(app_id int, key text, value text) returns bigint
    language sql immutable parallel safe
    return hashtextextended(value collate "C", hashtextextended(key collate "C", app_id));

create table if not exists device_tag (
    app_id     int not null,
    key        text collate "C" not null check (octet_length(key) between 1 and 128),
    value      text collate "C" not null check (octet_length(value) <= 256),
    device_id  bigint not null,
    constraint device_tag_device primary key (app_id, device_id, key)
);
alter table device_tag add column if not exists hash bigint not null generated always as (tag_hash(app_id, key, value)) stored;
do $$
begin
    -- Audiences were found by the texts, with a primary key of all columns, before they were found by the hash.
    if exists (select from pg_constraint where conrelid = 'device_tag'::regclass and conname = 'device_tag_pkey') then
        alter table device_tag drop constraint device_tag_pkey, add primary key using index device_tag_device;
    end if;
end $$;
create unique index if not exists device_tag_audience on device_tag (hash, device_id);

create table if not exists device_alias (
    app_id      int not null,
    label       text collate "C" not null check (octet_length(label) between 1 and 128),
    identifier  text collate "C" not null check (octet_length(identifier) between 1 and 128),
    device_id   bigint not null,
    primary key (app_id, label, identifier, device_id)
);
create unique index if not exists device_alias_device on device_alias (app_id, device_id, label);

create table if not exists segment (
    public_id   uuid primary key default gen_random_uuid(),
    app_id      int not null references app,
    name        text not null check (char_length(name) between 1 and 128),
    definition  json not null,  -- not jsonb: literals stay as they came
    created_at  timestamptz not null default now(),
    unique (app_id, name)
);

alter table segment add column if not exists note text not null default '';
alter table segment add column if not exists changed_at timestamptz not null default now();
create index if not exists segment_oldest on segment (app_id, created_at, public_id);

-- One push-to-start token a device and type. The primary key answers a page of a fan-out without touching the table, as long as
-- vacuum keeps up; hence its eager settings.
create table if not exists start_token (
    app_id         int not null,
    type_id        int not null,
    device_id      bigint not null,
    token          bytea not null check (octet_length(token) between 1 and 1300),
    service        smallint not null check (service between 0 and 3),  -- a PushService
    registered_at  timestamptz not null default now(),
    primary key (app_id, type_id, device_id) include (token, service),
    unique (app_id, type_id, token)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);

-- Databases of before FCM have APNs' environment in this column, and shorter tokens.
do $$
begin
    if exists (
        select from pg_attribute where attrelid = 'start_token'::regclass and attname = 'environment' and not attisdropped)
    then
        alter table start_token rename column environment to service;
        alter table start_token
            drop constraint if exists start_token_environment_check,
            drop constraint if exists start_token_token_check,
            add constraint start_token_service_check check (service between 0 and 3),
            add constraint start_token_token_check check (octet_length(token) between 1 and 1300);
    end if;
end $$;

-- When the token was told once more, null before that: APNs may have called it dead in between. Written at most once an hour; not in the
-- index, for no page reads it.
alter table start_token add column if not exists told_at timestamptz;

-- Whether a start of a type may reach the sandbox, in an app whose devices are in production.
create index if not exists start_token_sandbox on start_token (app_id, type_id) where service = 1;

-- Whether a device can be put on a broadcast channel by a start: iOS 18 and later, as far as it said so.
create or replace function joins_channels(os_version text) returns boolean
    language sql immutable parallel safe
    return coalesce(os_version ~ '^(1[89]|[2-9][0-9]|[1-9][0-9]{2,})([.]|$)', false);

-- Why a device has no start token any more: what APNs said of its last one (a DeliveryReason). It goes when the device registers another.
create table if not exists removed_start_token (
    app_id      int not null,
    type_id     int not null,
    device_id   bigint not null,
    status      smallint not null,
    removed_at  timestamptz not null default now(),
    primary key (app_id, type_id, device_id)
);

-- Activities -----------------------------------------------------------------------------------------------------------------------

-- One row for each life of an activity id: a start after an end begins a new one.
create table if not exists activity (
    activity_number      bigint primary key default new_time_ordered_id(),
    app_id               int not null,
    activity_id          text collate "C" not null check (octet_length(activity_id) between 1 and 128),
    type_id              int,  -- null when only devices told of it and none said its type
    last_timestamp       bigint not null default 0,  -- aps.timestamp of the latest notification, seconds since 1970
    latest_notification  bigint,  -- the latest update or end: what a device that joins late is sent
    created_at           timestamptz not null default now(),
    ended_at             timestamptz
) with (fillfactor = 70);
create unique index if not exists activity_running on activity (app_id, activity_id) where ended_at is null;
create index if not exists activity_newest on activity (app_id, activity_id, activity_number desc);
create index if not exists activity_app on activity (app_id, activity_number desc);

-- A broadcast channel is one more recipient of an activity's updates: device -1 in production, -2 in the sandbox, its token the channel's
-- identifier.
create table if not exists update_token (
    activity_number  bigint not null,
    device_id        bigint not null,
    app_id           int not null,
    token            bytea not null check (octet_length(token) between 1 and 1300),
    service          smallint not null check (service between 0 and 5),  -- a PushService
    started_at       bigint not null,  -- seconds since 1970
    ended_at         timestamptz,
    registered_at    timestamptz not null default now(),
    primary key (activity_number, device_id) include (token, service, started_at, ended_at)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);

-- Databases of before FCM have APNs' environment in this column, and shorter tokens.
do $$
begin
    if exists (
        select from pg_attribute where attrelid = 'update_token'::regclass and attname = 'environment' and not attisdropped)
    then
        alter table update_token rename column environment to service;
        alter table update_token
            drop constraint if exists update_token_app_id_token_key,
            drop constraint if exists update_token_environment_check,
            drop constraint if exists update_token_token_check,
            add constraint update_token_service_check check (service between 0 and 5),
            add constraint update_token_token_check check (octet_length(token) between 1 and 1300);
    end if;
end $$;
alter table update_token add column if not exists told_at timestamptz;  -- as that of start_token
-- A token of ActivityKit belongs to one activity on one device; an Android device has the same for all, and a campaign's channel for all its
-- instances.
drop index if exists update_token_token;
create unique index if not exists update_token_activity_kit on update_token (app_id, token) where service in (0, 1, 3);
create index if not exists update_token_device on update_token (app_id, device_id);
create index if not exists update_token_age on update_token (started_at);

-- Devices that asked to be on an activity's channel. Those that a start put there have that start among their deliveries.
create table if not exists channel_member (
    activity_number  bigint not null,
    device_id        bigint not null,
    app_id           int not null,
    joined_at        timestamptz not null default now(),
    primary key (activity_number, device_id)
);
create index if not exists channel_member_device on channel_member (app_id, device_id);

-- An update or end that was refused because no device could be pushed, for the first device that can be within a minute: only the
-- latest of each activity, and an end rather than an update.
create table if not exists pending_state (
    app_id          int not null,
    activity_id     text collate "C" not null,
    event           smallint not null check (event in (1, 2)),  -- update, end
    name            text not null,
    content         bytea not null,
    has_languages   boolean not null,
    push_timestamp  bigint,  -- its place among the activity's states; null when the activity was not known
    refused_at      timestamptz not null default clock_timestamp(),
    primary key (app_id, activity_id)
);

-- Broadcast channels ---------------------------------------------------------------------------------------------------------------

-- A channel at Apple's, from the intent to make it to its deletion. A row is committed before a channel is asked for, and goes after it is
-- known to be gone.
create table if not exists channel (
    request_id       uuid primary key default gen_random_uuid(),  -- apns-request-id of its creation
    app_id           int not null references app,
    bundle_id        text collate "C" not null,  -- channels belong to it; apps may share one
    environment      smallint not null check (environment in (0, 1)),
    policy           smallint not null check (policy in (0, 1)),  -- message-storage-policy
    -- Intended (0): asked for, or nobody knows; free (1); used (2) by an activity; leaving (3): to be deleted; foreign (4): seen in
    -- Apple's list and made by somebody else.
    state            smallint not null check (state between 0 and 4),
    channel_id       text collate "C" check (octet_length(channel_id) between 1 and 512),
    activity_number  bigint check ((activity_number is null) = (state <> 2)),
    made_at          timestamptz not null default clock_timestamp(),
    -- Until when a request of this row may be on its way: its creation's or its deletion's.
    busy_until       timestamptz,
    check ((channel_id is null) = (state = 0))
);
create unique index if not exists channel_identifier on channel (bundle_id, environment, channel_id);
create unique index if not exists channel_activity on channel (activity_number, environment) where state = 2;
create index if not exists channel_state on channel (app_id, environment, state);
-- Older databases take shorter identifiers, and a longer one in Apple's list would fail every comparison.
do $$
begin
    if exists (
        select from pg_constraint
        where conrelid = 'channel'::regclass and conname = 'channel_channel_id_check' and pg_get_constraintdef(oid) like '%128%')
    then
        alter table channel
            drop constraint channel_channel_id_check,
            add constraint channel_channel_id_check check (octet_length(channel_id) between 1 and 512);
    end if;
end $$;
-- A campaign's channel serves its instances one after the other; between them it is reserved (5).
alter table channel add column if not exists campaign_number bigint;
alter table channel drop constraint if exists channel_state_check;
alter table channel add constraint channel_state_check check (
    state between 0 and 5 and (campaign_number is null or state in (0, 2, 5)));
create unique index if not exists channel_campaign on channel (campaign_number, environment) where campaign_number is not null;

-- One row for each bundle identifier and environment that has, or is to have, channels.
create table if not exists channel_place (
    bundle_id      text collate "C" not null,
    environment    smallint not null check (environment in (0, 1)),
    listed_at      timestamptz,  -- when Apple's list was last compared; null before the first time
    listing        uuid,  -- the comparison that goes on
    listing_until  timestamptz not null default '-infinity',  -- nothing is made or deleted until then
    kept_until     timestamptz not null default '-infinity',  -- one daemon looks after the place until then
    primary key (bundle_id, environment)
);

-- Notifications --------------------------------------------------------------------------------------------------------------------

create table if not exists notification (
    notification_id  bigint primary key,
    public_id        uuid not null unique default gen_random_uuid(),
    app_id           int not null,
    activity_number  bigint not null,
    event            smallint not null check (event in (0, 1, 2)),  -- start, update, end
    type_id          int,
    name             text not null check (char_length(name) between 1 and 128),
    content          bytea not null,  -- JSON text in UTF-8, every literal as it came in
    push_timestamp   bigint not null,  -- aps.timestamp, seconds since 1970
    expires_at       bigint not null,  -- apns-expiration and the end of all retries, seconds since 1970
    created_at       timestamptz not null default now()
);
create index if not exists notification_activity on notification (activity_number, notification_id desc);
create index if not exists notification_app on notification (app_id, notification_id desc);

create table if not exists idempotency (
    app_id           int not null,
    key              uuid not null,
    notification_id  bigint not null,
    body_digest      bytea not null check (octet_length(body_digest) = 32),
    created_at       timestamptz not null default now(),
    primary key (app_id, key)
);
create index if not exists idempotency_age on idempotency (created_at);
create index if not exists idempotency_notification on idempotency (notification_id);

-- Live notifications ---------------------------------------------------------------------------------------------------------------

-- What SDKs register and starts name: the identifier of a kind, the Swift type of its attributes, what people call it.
create table if not exists notification_type (
    app_id           int not null,
    identifier       text collate "C" not null check (octet_length(identifier) between 1 and 128),
    attributes_type  text collate "C" check (octet_length(attributes_type) between 1 and 128),  -- the latest
    friendly_name    text check (char_length(friendly_name) between 1 and 128),
    recorded_at      timestamptz not null default now(),
    primary key (app_id, identifier)
);

-- The Swift types that SDKs registered for a kind: versions of an app may differ.
create table if not exists notification_type_attributes (
    app_id           int not null,
    identifier       text collate "C" not null,
    attributes_type  text collate "C" not null check (octet_length(attributes_type) between 1 and 128),
    primary key (app_id, identifier, attributes_type)
);

-- One live notification: an activity whose activity_id is the instance's identifier, a ULID. Its state is not stored: it follows from
-- failure, ended_at, expires_at and the totals of its start, so that nothing has to be done at the second in which one expires.
create table if not exists live_instance (
    app_id              int not null,
    instance_id         uuid not null,
    profile_label       text collate "C" not null,
    profile_identifier  text collate "C" not null,
    notification_type   text collate "C" not null,
    platform            smallint check (platform in (0, 1)),  -- iOS, Android
    source              smallint not null check (source in (0, 1)),  -- API, device
    attributes          bytea not null,  -- JSON objects in UTF-8, every literal as it came in: what was told last
    content_state       bytea not null,
    deep_link           text,
    failure             text,  -- why the start could reach nobody, known when it was accepted
    start_notification  bigint,
    delivery_count      int not null default 1,
    last_delivery       uuid not null,
    started_at          bigint not null,  -- seconds since 1970
    ended_at            bigint,
    expires_at          bigint not null,
    primary key (app_id, instance_id)
) with (fillfactor = 70);
create index if not exists live_instance_profile on live_instance (app_id, profile_label, profile_identifier, instance_id desc);
create index if not exists live_instance_age on live_instance (started_at);

-- Every start, update and end of an instance, in their order.
create table if not exists live_delivery (
    app_id           int not null,
    instance_id      uuid not null,
    number           int not null,
    delivery_id      uuid not null,  -- what the device tells its reports by
    operation        smallint not null check (operation in (0, 1, 2)),
    source           smallint not null check (source in (0, 1)),
    notification_id  bigint,
    failure          text,  -- why nobody could be pushed, known when it was accepted
    delivered        bigint not null default 0,
    opened           bigint not null default 0,
    created_at       bigint not null,  -- seconds since 1970
    primary key (app_id, instance_id, number),
    unique (app_id, delivery_id)
) with (fillfactor = 90);

-- What users are called by beside their external_id, as SDKs told it: an object of label and identifier. Devices have these names as
-- aliases; here they wait for devices that come later.
create table if not exists profile_names (
    app_id       int not null,
    external_id  text collate "C" not null,
    names        jsonb not null,
    told_at      timestamptz not null default now(),
    primary key (app_id, external_id)
);
create index if not exists profile_names_age on profile_names (told_at);

-- Messages of SDKs that count once, however often they are sent.
create table if not exists live_report (
    app_id      int not null,
    message_id  text collate "C" not null check (octet_length(message_id) between 1 and 128),
    counted_at  timestamptz not null default now(),
    primary key (app_id, message_id)
);
create index if not exists live_report_age on live_report (counted_at);

-- Broadcast campaigns --------------------------------------------------------------------------------------------------------------

create table if not exists campaign (
    campaign_number   bigint primary key generated always as identity,
    app_id            int not null references app,
    public_id         uuid not null unique default gen_random_uuid(),
    request_id        text collate "C" not null check (octet_length(request_id) between 1 and 128),
    request_digest    bytea not null check (octet_length(request_digest) = 32),
    live_activity_id  text collate "C" check (octet_length(live_activity_id) between 1 and 128),  -- chosen by its maker
    name              text not null check (char_length(name) between 1 and 128),
    created_by        text not null check (octet_length(created_by) <= 320),
    -- {"included":[segment ids, "all"],"excluded":[segment ids]} or {"filters":[...]}; not jsonb: literals stay as they came.
    audience          json not null,
    environments      smallint[] not null check (cardinality(environments) between 1 and 2),  -- where it is to have a channel
    created_at        timestamptz not null default now(),
    unique (app_id, request_id)
);
create unique index if not exists campaign_live_activity on campaign (app_id, live_activity_id);

-- One run of a campaign: an activity whose activity_id is the instance's identifier.
create table if not exists broadcast_instance (
    app_id           int not null,
    instance_id      text collate "C" not null check (octet_length(instance_id) between 1 and 128),
    campaign_number  bigint not null,
    activity_number  bigint not null,
    started_at       bigint not null,  -- seconds since 1970
    dismissal_date   bigint,  -- seconds since 1970
    ended_at         timestamptz,
    was_dismissed    boolean not null default false,  -- ended because its dismissal date had come
    latest_digest    bytea check (octet_length(latest_digest) = 32),  -- of the latest update or end
    primary key (app_id, instance_id)
) with (fillfactor = 80);
create index if not exists broadcast_instance_newest on broadcast_instance (campaign_number, started_at desc);
create index if not exists broadcast_instance_age on broadcast_instance (started_at);
create index if not exists broadcast_instance_dismissal on broadcast_instance (dismissal_date)
    where ended_at is null and dismissal_date is not null;

-- The queue ------------------------------------------------------------------------------------------------------------------------

-- A daemon's fan-out worker and its lease.
create table if not exists worker (
    worker_id    int generated always as identity primary key,
    node         text not null,
    lease_until  timestamptz not null,
    lost_at      timestamptz  -- when others were allowed to take its chunks; it never works again
) with (fillfactor = 50);
alter table worker add column if not exists journal uuid;  -- names the file in which it notes what it put on the wire
-- Since when its lease has not run out, not even for a moment.
alter table worker add column if not exists held_since timestamptz not null default clock_timestamp();

-- What a notification still has to do. The audience is read page by page in the order of device_id; `watermark` is how far.
create table if not exists fan_out (
    notification_id  bigint primary key,
    app_id           int not null,
    activity_number  bigint not null,
    event            smallint not null check (event in (0, 1, 2)),
    type_id          int check (event <> 0 or type_id is not null),
    audience         json,  -- a start's conditions, frozen; null means everybody who holds a token
    has_languages    boolean not null,  -- whether devices get different texts
    watermark        bigint not null default 0,
    chunk_count      int not null default 0,
    is_carved        boolean not null default false,  -- the whole audience is in chunks
    is_superseded    boolean not null default false,
    created_at       timestamptz not null default now(),
    finished_at      timestamptz,
    -- The sums of its chunks, as of finished_at.
    targeted         bigint not null default 0,
    accepted         bigint not null default 0,
    failed           bigint not null default 0,
    unknown          bigint not null default 0,
    reasons          jsonb not null default '{}',
    check (finished_at is null or is_carved)
) with (fillfactor = 50);
-- The types of the tokens that a start of a list takes, where devices differ in them: the newest token of each device.
alter table fan_out add column if not exists type_ids int[];
-- Entries of a start's list that name no device.
alter table fan_out add column if not exists unknown_entries bigint not null default 0;
-- Whether a start puts devices on the activity's channels.
alter table fan_out add column if not exists joins_channels boolean not null default false;
-- What had been committed when a start that names users was resolved to devices; null for all other fan-outs.
alter table fan_out add column if not exists users_seen pg_snapshot;
-- The sums of its taps, once their rows are no longer kept; null until then.
alter table fan_out add column if not exists clicks bigint;
alter table fan_out add column if not exists clicked_devices bigint;
-- How far the condition may be looked for before the next window is measured; behind the watermark it is used up.
alter table fan_out add column if not exists window_end bigint;
create index if not exists fan_out_open on fan_out (notification_id) where finished_at is null;
create index if not exists fan_out_uncarved on fan_out (app_id, chunk_count, notification_id)
    where finished_at is null and not is_carved;
create index if not exists fan_out_open_start on fan_out (app_id) where finished_at is null and event = 0;
create index if not exists fan_out_open_activity on fan_out (activity_number) where finished_at is null;

-- Some devices of a fan-out: ready (0), claimed by a worker (1), closed (2). Closed chunks are the counters.
create table if not exists fan_out_chunk (
    notification_id  bigint not null,
    number           int not null,
    state            smallint not null check (state in (0, 1, 2)),
    owner            int check (state <> 1 or owner is not null),
    epoch            int not null default 0,  -- rises with each owner
    low              bigint not null default 0,  -- a page of the audience: low < device_id <= high
    high             bigint not null default 0,
    devices          bigint[],  -- a list instead of a page
    attempts         smallint[] check (cardinality(attempts) = cardinality(devices)),  -- how often each was tried
    is_retry         boolean not null default false,  -- its devices count as targeted already
    claimed_at       timestamptz,
    closed_at        timestamptz,
    targeted         int not null default 0,
    accepted         int not null default 0,
    failed           int not null default 0,
    unknown          int not null default 0,
    reasons          jsonb not null default '{}',  -- why pushes failed: status to count
    primary key (notification_id, number)
) partition by range (notification_id);
create index if not exists fan_out_chunk_open on fan_out_chunk (notification_id, number) where state in (0, 1);

-- How each push ended; no row before it did. `status` is a DeliveryReason.
create table if not exists delivery (
    notification_id  bigint not null,
    device_id        bigint not null,
    at_ms            int not null,  -- milliseconds after the notification was stored
    status           smallint not null,
    primary key (notification_id, device_id)
) partition by range (notification_id);

-- Pushes to be made at a later time, and devices that joined after the fan-out had passed them.
create table if not exists delivery_retry (
    notification_id  bigint not null,
    device_id        bigint not null,
    attempt          smallint not null,
    is_targeted      boolean not null,  -- counted already; false for a late joiner
    not_before       timestamptz not null,
    primary key (notification_id, device_id)
);
-- The app of the notification: what is due is looked for app by app, so that one app's millions are not walked through for another's few.
alter table delivery_retry add column if not exists app_id int;
-- Daemons of an earlier version do not name the app.
create or replace function set_retry_app() returns trigger language plpgsql as $$
begin
    new.app_id := (select app_id from fan_out where notification_id = new.notification_id);
    return new;
end $$;
create or replace trigger delivery_retry_app before insert on delivery_retry
    for each row when (new.app_id is null) execute function set_retry_app();
drop index if exists delivery_retry_due;
create index if not exists delivery_retry_app_due on delivery_retry (app_id, not_before);
create index if not exists delivery_retry_fan_out_due on delivery_retry (notification_id, is_targeted, not_before);
update delivery_retry as retry
set app_id = fan_out.app_id
from fan_out
where retry.app_id is null and fan_out.notification_id = retry.notification_id;

-- Tokens that APNs answered with "too many requests", until when they are left alone, whatever is to be sent. A crash of the server
-- forgives them.
create unlogged table if not exists quiet_token (
    activity_number  bigint not null,
    device_id        bigint not null,
    token            bytea not null,
    until            timestamptz not null,
    primary key (activity_number, device_id)
);
create index if not exists quiet_token_until on quiet_token (until);

create table if not exists click (
    notification_id  bigint not null,
    device_id        bigint not null,
    first_at         timestamptz not null default now(),
    taps             int not null default 1 check (taps > 0),
    primary key (notification_id, device_id)
) partition by range (notification_id);

-- What a device told once and must not count twice: taps by their own identifiers, and under the identifier of zeros that the push
-- arrived. A table of its own, since most taps have no identifier.
create table if not exists device_report (
    notification_id  bigint not null,
    device_id        bigint not null,
    report_id        uuid not null,
    primary key (notification_id, device_id, report_id)
) partition by range (notification_id);
-- Receipts are counted without the taps beside them.
create index if not exists device_report_receipt on device_report (notification_id)
    where report_id = '00000000-0000-0000-0000-000000000000';
-- The number of receipts, once their rows are no longer kept; null until then.
alter table fan_out add column if not exists receipts bigint;

-- Partitions of one day each; the daemons drop old ones ----------------------------------------------------------------------------

-- Makes the partitions from yesterday (for a clock that steps back) to `days_ahead` days from now; returns how many were missing.
-- ATTACH, unlike CREATE TABLE ... PARTITION OF, does not stop those who write meanwhile.
create or replace function ensure_partitions(days_ahead int) returns int
    language plpgsql as $$
declare
    parent text;
    options text;
    midnight timestamptz;
    partition_name text;
    made int := 0;
begin
    perform pg_advisory_xact_lock(hashtext('openpushd partitions'));
    for parent, options in
        values ('fan_out_chunk', ' with (fillfactor = 60)'), ('delivery', ''), ('click', ' with (fillfactor = 80)'),
            ('device_report', '')
    loop
        for midnight in
            select day at time zone 'UTC'
            from generate_series(
                date_trunc('day', now() at time zone 'UTC') - interval '1 day',
                date_trunc('day', now() at time zone 'UTC') + days_ahead * interval '1 day', interval '1 day') as day
        loop
            partition_name := parent || to_char(midnight at time zone 'UTC', '_YYYYMMDD');
            continue when to_regclass(format('%I', partition_name)) is not null;
            execute format(
                'create table %I (like %I including defaults including constraints)%s', partition_name, parent, options);
            execute format(
                'alter table %I attach partition %I for values from (%s) to (%s)', parent, partition_name,
                time_ordered_id(midnight, 0), time_ordered_id(midnight + interval '24 hours', 0));
            made := made + 1;
        end loop;
    end loop;
    return made;
end $$;

-- Eight days: an insert finds its partition as long as a daemon ran within the last seven.
select ensure_partitions(8);

insert into schema_version (version) values (1) on conflict do nothing;
commit;
