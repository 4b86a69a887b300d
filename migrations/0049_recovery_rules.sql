-- Rules by which a merchant treats segments of its invoices differently.

create table recovery_rules (
  merchant_id uuid not null,
  id uuid not null,
  position int4 not null,
  name text not null,
  conditions jsonb not null,
  leave_out boolean not null,
  window_days int4,
  budget int4,
  lead_ms int4,
  quiet jsonb,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint recovery_rules_pkey primary key (merchant_id, id),
  constraint recovery_rules_position_key unique (merchant_id, position)
);
comment on table recovery_rules is 'The recovery rules of a merchant, in order: the first one that fits an invoice decides.';
comment on column recovery_rules.conditions is 'The conditions that are given; all must hold.';
comment on column recovery_rules.leave_out is 'Whether Dunlin never acts on such an invoice.';
comment on column recovery_rules.window_days is 'Null, as in the other outcomes: the setting of the merchant holds.';
comment on column recovery_rules.quiet is 'Weekdays, dates and hours without retries, on the customer''s clock.';

alter table recovery_rules alter column merchant_id set (n_distinct = 1);
alter table recovery_rules enable row level security;
alter table recovery_rules force row level security;
create policy wall on recovery_rules using (
  merchant_id = (select nullif(current_setting('dunlin.merchant', true), '')::uuid)
  or (select current_setting('dunlin.every_merchant', true) = 'on' and current_user <> 'dunlin_api'));

alter table cases add column rule_id uuid, add column rule_window_days int4, add column rule_budget int4;
comment on column cases.rule_id is 'The recovery rule that decides; null: none fits.';
comment on column cases.rule_window_days is 'The window that the rule gave; null: it gave none.';
comment on column cases.rule_budget is 'The budget that the rule gave; null: it gave none.';

-- A case that a rule leaves out is no loss. Before version 17, PostgreSQL cannot change the expression of a generated column.
alter table cases drop constraint cases_end_reason_check;
alter table cases add constraint cases_end_reason_check check (end_reason = any (array[
  'paid', 'voided', 'uncollectible', 'refunded', 'draft', 'subscription_canceled', 'subscription_expired', 'window_over', 'budget_used',
  'hopeless', 'stopped_by_hand', 'settled', 'left_out']));
alter table cases drop column outcome;
alter table cases add column outcome text collate "C" not null generated always as (
  case
    when arm <> 'dunlin' then 'watched'
    when ended_at is null then 'open'
    when recovered then 'recovered'
    when end_reason = 'paid' then 'paid'
    when end_reason = any (array['voided', 'refunded', 'draft', 'settled', 'left_out']) then 'stopped'
    else 'lost'
  end) stored;
create index cases_by_outcome on cases (merchant_id, outcome, id) include (currency, amount);
create index cases_ended on cases (merchant_id, ended_at) include (outcome, currency, amount, unpaid_at) where ended_at is not null;
