-- One tap by one statement, for `benchmark clicks` to compare with: app, push token, activity id. As the gateway counted taps before
-- it put them together.
with tapping as materialized (select app_id, device_id from device where app_id = $1 and push_token = $2),
pushed as materialized (
    select notification.notification_id, notification.public_id, tapping.device_id
    from tapping
        join activity on activity.app_id = tapping.app_id and activity.activity_id = $3
        join notification using (activity_number)
        join lateral (
            select from delivery
            where delivery.notification_id = notification.notification_id and delivery.device_id = tapping.device_id
                and delivery.status in (200, 201, 0)) as delivery on true
    order by notification.notification_id desc
    limit 1),
counted as (
    insert into click as stored (notification_id, device_id)
    select notification_id, device_id from pushed
    on conflict (notification_id, device_id) do update set taps = stored.taps + 1)
select pushed.public_id from pushed
