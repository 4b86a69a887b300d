-- Behind the wall an index on an expression is not walked: the expression could give away rows that it is there to hide. So the day of
-- execution (UTC), by which lists in another order are merged, is a column.
drop index recovery_actions_day_created;
drop index recovery_actions_day_updated;
alter table recovery_actions
  add column executed_on date generated always as ((executed_at at time zone 'UTC')::date) stored;
create index recovery_actions_day_created on recovery_actions (merchant_id, executed_on, created_at, id)
  include (facets, executed_at) where executed_at is not null;
create index recovery_actions_day_updated on recovery_actions (merchant_id, executed_on, updated_at, id)
  include (facets, executed_at) where executed_at is not null;
