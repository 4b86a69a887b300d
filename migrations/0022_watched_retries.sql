-- What the merchant's own system tried on invoices that Dunlin only watches, in shadow mode and in the other arm of an experiment, teaches as its own retries do.

-- Retries that ended, each once. Steps write them under the merchant's clock, as they write recovery_actions.executed_at: so one order holds both, and one
-- cursor says how far a merchant was learned. What was tried and how it ended is in transactions.
create table watched_retries (
  merchant_id uuid not null,
  transaction_id text not null,
  id uuid not null, -- in the order of their making: retries of one moment are learned in the order in which they were made
  case_id uuid not null,
  noted_at timestamptz not null,
  primary key (merchant_id, transaction_id)
);
create unique index watched_retries_noted on watched_retries (merchant_id, noted_at, id);
alter table watched_retries alter column merchant_id set (n_distinct = 1);

alter table watched_retries enable row level security;
alter table watched_retries force row level security;
create policy wall on watched_retries using (
  merchant_id = (select nullif(current_setting('dunlin.merchant', true), '')::uuid)
  or (select current_setting('dunlin.every_merchant', true) = 'on' and current_user <> 'dunlin_api'));

-- The cursor stands behind either kind.
alter table learned_merchants rename column executed_at to noted_at;
alter table learned_merchants rename column action_id to lesson_id;

-- What was tried before this migration teaches too: a step of each such case notes it, also where the case has ended.
insert into case_pokes (merchant_id, id, part, case_ids)
select merchant_id, '00000000-0000-0000-0000-000000000000', part, array_agg(id order by id)
from (
  select merchant_id, id, (row_number() over (partition by merchant_id order by id) - 1) / 100 as part from cases where arm <> 'dunlin'
) k
group by merchant_id, part;
