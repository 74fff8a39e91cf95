-- Whether a fan-out is finished, for `benchmark fan-out`: one look at an index, where the API's answer adds up all chunks.
select fan_out.finished_at is not null
from notification join fan_out using (notification_id)
where notification.public_id = $1
