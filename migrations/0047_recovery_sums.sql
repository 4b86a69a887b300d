-- Recovery by decline reason, card, plan and retry, from sums per day. The service fills them for older cases: each is queued once.

alter table cases
  add column decline_group text,
  add column decline_code text,
  add column payment_method text,
  add column card_country text,
  add column card_issuer text,
  add column plan_id text,
  add column amount_band text,
  add column tries int2[] not null default '{}',
  add column counted text,
  add column counted_amount int8,
  add constraint cases_counted_check check (counted = any (array['recovered', 'paid', 'lost'])),
  add constraint cases_counted_amount_check check ((counted is null) = (counted_amount is null));
comment on column cases.decline_group is 'Of the first declined attempt; null: none was pushed.';
comment on column cases.decline_code is 'Of the first declined attempt, as the network or the gateway gave it.';
comment on column cases.payment_method is 'Card network, or the payment method, of the first declined attempt.';
comment on column cases.plan_id is 'Of the invoice''s subscription.';
comment on column cases.amount_band is 'Lower bound of the amount''s band in major units.';
comment on column cases.tries is 'Executed retries, earliest first: hour of the week on the customer''s clock, from Monday 0:00, times 2; plus 1 if paid.';
comment on column cases.counted is 'The outcome with which recovery_sums holds the case; null: it does not.';

create index cases_failed on cases (merchant_id, unpaid_at);

create table recovery_sums (
  merchant_id uuid not null,
  dimension text collate "C" not null,
  since timestamptz not null,
  value text collate "C" not null,
  currency text collate "C" not null,
  n int8 not null,
  recovered int8 not null,
  amount int8 not null,
  recovered_amount int8 not null,
  constraint recovery_sums_pkey primary key (merchant_id, dimension, since, value, currency)
) with (fillfactor = 70);
alter table recovery_sums alter column merchant_id set (n_distinct = 1);
comment on table recovery_sums is 'Counts and amounts of ended cases that Dunlin handled. The statement that changes a case''s columns changes them.';
comment on column recovery_sums.since is 'The UTC day of the first failure; for the dimension "ended" the UTC hour of the end.';
comment on column recovery_sums.n is 'Cases; for the dimensions "attempt" and "hour" executed retries.';

alter table recovery_sums enable row level security;
alter table recovery_sums force row level security;
create policy wall on recovery_sums using (
  merchant_id = (select nullif(current_setting('dunlin.merchant', true), '')::uuid)
  or (select current_setting('dunlin.every_merchant', true) = 'on' and current_user <> 'dunlin_api'));

insert into case_pokes (merchant_id, id, part, case_ids)
select merchant_id, gen_random_uuid(), 0, array_agg(id order by id)
from (select merchant_id, id, (row_number() over (partition by merchant_id order by id desc) - 1) / 100 as part from cases) listed
group by merchant_id, part;
