-- Lists of any size: what every filter and order is answered from, and how many there are.

-- What a list may be filtered by and many actions share, in seven letters: country, currency, type, status. A filter is a pattern over the few
-- hundred that a merchant has, and each of them lies in the order of the list: so a page costs the same, however rare what it asks for is.
-- The days do the same for lists by execution time in another order.
alter table recovery_actions
  add column facets text collate "C" not null generated always as (
    coalesce(card_country, '--') || currency
    || case type when 'RETRY' then 'R' when 'CARD_CHANGE' then 'C' end
    || case status when 'SCHEDULED' then 'P' when 'SENT' then 'T' when 'SUCCEEDED' then 'S' when 'FAILED' then 'F'
         when 'EXPIRED' then 'E' when 'CANCELED' then 'C' when 'DELIVERY_FAILED' then 'D' end
  ) stored check (length(facets) = 7);

drop index recovery_actions_executed;
create index recovery_actions_executed on recovery_actions (merchant_id, executed_at, id) include (facets, created_at, updated_at)
  where executed_at is not null;
create index recovery_actions_facets_created on recovery_actions (merchant_id, facets, created_at, id);
create index recovery_actions_facets_updated on recovery_actions (merchant_id, facets, updated_at, id);
create index recovery_actions_facets_executed on recovery_actions (merchant_id, facets, executed_at, id) include (created_at, updated_at)
  where executed_at is not null;
create index recovery_actions_day_created on recovery_actions (merchant_id, ((executed_at at time zone 'UTC')::date), created_at, id)
  include (facets, executed_at) where executed_at is not null;
create index recovery_actions_day_updated on recovery_actions (merchant_id, ((executed_at at time zone 'UTC')::date), updated_at, id)
  include (facets, executed_at) where executed_at is not null;

-- How many listed actions have these facets. Written by the statement that writes the actions. Their writers hold the merchant's clock,
-- so nobody else waits for these rows.
create table action_counts (
  merchant_id uuid not null,
  facets text collate "C" not null,
  actions int8 not null,
  primary key (merchant_id, facets)
) with (fillfactor = 50);

-- How many of them were executed on a day, and in a month (UTC).
create table executed_counts (
  merchant_id uuid not null,
  span text not null check (span in ('day','month')),
  starts_on date not null,
  facets text collate "C" not null,
  actions int8 not null,
  primary key (merchant_id, span, starts_on, facets)
) with (fillfactor = 50);

insert into action_counts
select merchant_id, facets, count(*) from recovery_actions group by merchant_id, facets;
insert into executed_counts
select r.merchant_id, s.span, s.starts_on, r.facets, count(*)
from recovery_actions r
cross join lateral (
  values ('day', (r.executed_at at time zone 'UTC')::date), ('month', date_trunc('month', r.executed_at at time zone 'UTC')::date)
) s (span, starts_on)
where r.executed_at is not null
group by r.merchant_id, s.span, s.starts_on, r.facets;

-- What is left of the rate limit of a key. Processes take some ahead, and give back what they do not use. Not logged: after a crash every bucket is full.
create unlogged table rate_buckets (
  merchant_id uuid not null,
  key_id uuid not null,
  per_second int8 not null,
  burst int8 not null,
  left_over float8 not null, -- after what was granted
  asked int8 not null, -- by the last who asked; below zero: given back
  granted int8 not null, -- to the last who asked
  at timestamptz not null, -- real time
  primary key (merchant_id, key_id)
) with (fillfactor = 50);
