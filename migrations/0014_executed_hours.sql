-- Beside months and days, how many were executed in each three hours (UTC): what is left of a range of time is counted one by one, and a day of a large
-- merchant has tens of thousands.
alter table executed_counts rename column starts_on to starts_at;
alter table executed_counts alter column starts_at type timestamptz using starts_at::timestamp at time zone 'UTC';
alter table executed_counts drop constraint executed_counts_span_check;
alter table executed_counts add constraint executed_counts_span_check check (span in ('month', 'day', '3h'));
insert into executed_counts (merchant_id, span, starts_at, facets, actions)
select merchant_id, '3h', date_bin('3 hours', executed_at, 'epoch'), facets, count(*)
from recovery_actions where executed_at is not null
group by merchant_id, date_bin('3 hours', executed_at, 'epoch'), facets;
