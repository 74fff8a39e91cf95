-- Devices with what filters ask for, tags and aliases, for `benchmark audience` and `benchmark registration`: every device has the tag
-- `team`, a tenth of them each value of `club`. Settings of the session say for which app and type, and how many, as for devices.sql.
set statement_timeout = 0;

insert into activity_type (app_id, name)
values (current_setting('benchmark.app')::int, current_setting('benchmark.activity_type'));

insert into device (app_id, push_token, environment, external_id, language, country, session_count, tags)
select current_setting('benchmark.app')::int, sha256(int8send(number)), 0, 'user-' || number,
    (array['en', 'de', 'fr'])[1 + number % 3], (array['US', 'DE', 'FR', 'IT', 'ES'])[1 + number % 5], number % 200,
    jsonb_build_object('team', 'all', 'club', 'c' || number % 10)
from generate_series(1, current_setting('benchmark.device_count')::bigint) as number;

insert into start_token (app_id, type_id, device_id, token, service)
select device.app_id, activity_type.type_id, device.device_id, sha256(device.push_token), 0
from device join activity_type on activity_type.app_id = device.app_id
where device.app_id = current_setting('benchmark.app')::int
order by device.device_id;

insert into device_tag (app_id, key, value, device_id)
select app_id, 'club', tags ->> 'club', device_id from device order by app_id, tags ->> 'club', device_id;
insert into device_tag (app_id, key, value, device_id)
select app_id, 'team', 'all', device_id from device order by app_id, device_id;

insert into device_alias (app_id, label, identifier, device_id)
select app_id, 'external_id', external_id, device_id from device order by app_id, external_id;
