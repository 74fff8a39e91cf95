-- What `benchmark clicks` checks: the taps of an activity and their devices; app, id of the activity.
select coalesce(sum(click.taps), 0)::bigint, count(click.device_id)
from activity join notification using (activity_number) left join click using (notification_id)
where activity.app_id = $1 and activity.activity_id = $2
