-- A start whose pushes all devices of the app got, for `benchmark clicks`: app, id of the activity.
with made as (
    insert into activity (app_id, activity_id) values ($1, $2)
    returning activity_number),
notified as (
    insert into notification (notification_id, app_id, activity_number, event, name, content, push_timestamp, expires_at)
    select new_time_ordered_id(), $1, activity_number, 1, $2, '{}', unix_seconds(now()), unix_seconds(now())
    from made
    returning notification_id, activity_number),
finished as (
    insert into fan_out (notification_id, app_id, activity_number, event, has_languages, is_carved, finished_at)
    select notification_id, $1, activity_number, 1, false, true, now()
    from notified)
insert into delivery (notification_id, device_id, at_ms, status)
select notified.notification_id, device.device_id, 0, 200
from notified, device
where device.app_id = $1
order by device.device_id
