-- What the server executed most, for `benchmark fan-out`: the time counts waiting, and no parsing, planning or commit.
-- What only prepares a measurement is left out.
select query, calls, total_exec_time * 1000, wal_bytes::bigint
from pg_stat_statements
where dbid = (select oid from pg_database where datname = current_database())
    and query !~* '^(vacuum|checkpoint|create|set|show|select (pg_|set_config|current_setting))'
order by total_exec_time desc
limit 12
