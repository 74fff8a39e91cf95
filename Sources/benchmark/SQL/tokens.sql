-- A page of the bare token table, for `benchmark audience` to compare with: app, type's name, device behind which to begin, most rows.
select token.device_id, token.token, token.service
from start_token as token
where token.app_id = $1 and token.type_id = (select type_id from activity_type where app_id = $1 and name = $2)
    and token.device_id > $3
order by token.device_id
limit $4
