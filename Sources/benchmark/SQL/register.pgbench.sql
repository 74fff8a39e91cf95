-- A token registration as one statement written by hand, for `benchmark registration`: pgbench runs it for random devices, each time with
-- another token.
\set device random(1, :device_count)
\set number random(1, 1000000000000)
insert into start_token as stored (app_id, type_id, device_id, token, service)
select device.app_id, type.type_id, device.device_id, sha256(int8send(:number)), device.service
from device join activity_type as type on type.app_id = device.app_id and type.name = 'BenchmarkAttributes'
where device.app_id = :app and device.push_token = sha256(int8send(:device))
on conflict (app_id, type_id, device_id) do update
    set token = excluded.token, service = excluded.service, registered_at = clock_timestamp()
    where stored.token <> excluded.token;
