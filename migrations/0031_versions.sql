-- Which version of a record is the truth, what is owed, and what contradicts itself.

-- The newest `updatedAt` that the sender gave, where that is not `updated_at`; -infinity: the sender never gave one, so the later arrival wins. What a
-- sender does not date is dated by its arrival, but the first version by its creation.
alter table subscriptions add column version_at timestamptz;
alter table transactions add column version_at timestamptz;
alter table invoices
  add column version_at timestamptz,
  -- What the version says is left to pay, in minor units; null: it does not say. `amount` is the total.
  add column amount_due int8 check (amount_due >= 0),
  -- The date of the first unpaid version since the invoice was out of recovery; null while it is out. A window begins there, however often the invoice is touched.
  add column unpaid_since timestamptz;

update invoices i set unpaid_since = coalesce(
  (select c.unpaid_at from cases c
   where c.merchant_id = i.merchant_id and c.invoice_id = i.id and not c.invoice_left order by c.opened_at desc limit 1),
  i.updated_at)
where state in ('UNPAID', 'PARTIALLY_PAID');

-- A credit may leave nothing to pay.
alter table cases drop constraint cases_end_reason_check;
alter table cases add constraint cases_end_reason_check check (end_reason in (
  'paid', 'voided', 'uncollectible', 'refunded', 'draft', 'subscription_canceled', 'subscription_expired', 'window_over', 'budget_used', 'hopeless',
  'stopped_by_hand', 'settled')) not valid;
alter table cases validate constraint cases_end_reason_check;
-- The expression of a generated column can be changed from PostgreSQL 17 on only: the table is rewritten, as by 0020.
alter table cases
  drop column outcome,
  add column outcome text collate "C" not null generated always as (
    case when arm <> 'dunlin' then 'watched' when ended_at is null then 'open'
      when recovered then 'recovered' when end_reason = 'paid' then 'paid'
      when end_reason in ('voided', 'refunded', 'draft', 'settled') then 'stopped' else 'lost' end
  ) stored;
create index cases_ended on cases (merchant_id, ended_at) include (outcome, currency, amount, unpaid_at) where ended_at is not null;
create index cases_by_outcome on cases (merchant_id, outcome, id) include (currency, amount);
do $$
begin
  if exists (select from cases) then analyze cases; end if;
end $$;

-- What was owed when the action was planned, in minor units; null: planned before this was kept.
alter table recovery_actions add column amount_due int8 check (amount_due >= 0);
alter table merchants add column smallest_amount int8 not null default 0 check (smallest_amount >= 0);

-- Invoices about which facts contradict each other: nothing is asked for until one of the facts changes, and people are shown which.
create table invoice_conflicts (
  merchant_id uuid not null,
  invoice_id text not null,
  kind text not null check (kind in ('paid_but_unpaid', 'two_currencies', 'paid_too_much')),
  facts jsonb not null,
  found_at timestamptz not null,
  primary key (merchant_id, invoice_id)
);
alter table invoice_conflicts enable row level security;
alter table invoice_conflicts force row level security;
create policy wall on invoice_conflicts using (
  merchant_id = (select nullif(current_setting('dunlin.merchant', true), '')::uuid)
  or (select current_setting('dunlin.every_merchant', true) = 'on' and current_user <> 'dunlin_api'));

-- Of a disputed payment the instrument may not be charged again, however long ago that was.
create index transactions_disputed_by_customer on transactions (merchant_id, customer_id) where state = 'DISPUTED';
create index transactions_disputed_on_invoice on transactions (merchant_id, invoice_id) where state = 'DISPUTED';
create index transactions_disputed_on_card on transactions (merchant_id, card_fingerprint) where state = 'DISPUTED';

-- Of the records of a request: those stored, and those that were older than what is known. The rest was known already.
alter table request_log add column stored int4, add column older int4;

-- When a subscription is active again, the cases that ended with it are looked for.
create index cases_ended_with_subscription on cases (merchant_id, subscription_id)
  where end_reason in ('subscription_canceled', 'subscription_expired');
