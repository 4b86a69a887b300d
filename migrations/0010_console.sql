-- What people ask for on a page and what takes longer than a page may: the row is the work item, and tells how far it is.

create table jobs (
  merchant_id uuid not null,
  id uuid not null,
  kind text not null check (kind in ('replay', 'backtest')),
  asked_at timestamptz not null,
  -- Who asked, as the audit log says it.
  person_id uuid,
  actor text not null,
  address text,
  input jsonb not null,
  progress jsonb not null default '{}',
  result jsonb,
  failure text, -- in words for who asked
  ended_at timestamptz,
  -- Real time. Whoever takes it moves this ahead, and again while working: a lease. The holder fences what a former one still writes.
  due_at timestamptz,
  holder uuid,
  primary key (merchant_id, id),
  check ((ended_at is null) = (due_at is not null)),
  check (ended_at is not null or (result is null and failure is null)),
  check (result is null or failure is null)
);
-- One of a kind at a time for a merchant; and what is due is found here, among the few that have not ended.
create unique index jobs_open on jobs (merchant_id, kind) where due_at is not null;

alter table jobs enable row level security;
alter table jobs force row level security;
create policy wall on jobs using (
  merchant_id = (select nullif(current_setting('dunlin.merchant', true), '')::uuid)
  or (select current_setting('dunlin.every_merchant', true) = 'on' and current_user <> 'dunlin_api'));

-- Which cases were recovered, for sums over many of them.
create index recovery_actions_succeeded on recovery_actions (merchant_id, case_id) where status = 'SUCCEEDED';
