-- Devices that hold push-to-start tokens, by the million, for `benchmark fan-out`. Their tokens have 32 bytes, as the reference has them.
-- Settings of the session say for which app and type, and how many: benchmark.app, benchmark.activity_type, benchmark.device_count.
-- Devices that are there already are used again.
set statement_timeout = 0;

insert into device (app_id, push_token, environment)
select current_setting('benchmark.app')::int, sha256(int8send(number)), 0
from generate_series(
    (select count(*) from device where app_id = current_setting('benchmark.app')::int) + 1,
    current_setting('benchmark.device_count')::bigint) as number;

insert into activity_type (app_id, name)
values (current_setting('benchmark.app')::int, current_setting('benchmark.activity_type'));

insert into start_token (app_id, type_id, device_id, token, service)
select device.app_id, activity_type.type_id, device.device_id, sha256(device.push_token), 0
from device join activity_type on activity_type.app_id = device.app_id
where device.app_id = current_setting('benchmark.app')::int
    and activity_type.name = current_setting('benchmark.activity_type')
order by device.device_id
limit current_setting('benchmark.device_count')::bigint;
