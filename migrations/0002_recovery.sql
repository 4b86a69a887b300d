-- What is in recovery, what was decided, and the events that say so.

-- An invoice in recovery.
create table cases (
  merchant_id uuid not null,
  id uuid not null,
  invoice_id text not null,
  customer_id text not null,
  subscription_id text,
  unpaid_at timestamptz not null,
  window_ends_at timestamptz not null,
  budget int4 not null check (budget >= 0),
  opened_at timestamptz not null,
  ended_at timestamptz,
  end_reason text check (end_reason in ('paid','voided','uncollectible','refunded','draft','subscription_canceled','subscription_expired','window_over','budget_used','hopeless')),
  paid_at timestamptz,
  -- The invoice was seen paid, voided or the like: only then may a later unpaid copy open a new case.
  invoice_left boolean not null default false,
  primary key (merchant_id, id),
  check ((ended_at is null) = (end_reason is null)),
  check (paid_at is null or end_reason = 'paid'),
  check (window_ends_at > unpaid_at)
);
create unique index cases_open on cases (merchant_id, invoice_id) where ended_at is null;
create index cases_by_invoice on cases (merchant_id, invoice_id);
create index cases_by_customer on cases (merchant_id, customer_id);
create index cases_by_subscription on cases (merchant_id, subscription_id) where ended_at is null;

-- The work items of the deciding loop: when a case wants a look. Every open case has a row, an ended one while an outcome is awaited.
-- A table of its own, because a due time moves with every step, and each move of an indexed column writes all indexes of its table.
-- Only steps write here, and a merchant's steps come one after the other.
create table due_cases (
  merchant_id uuid not null,
  case_id uuid not null,
  due_at timestamptz not null,
  failures int4 not null default 0,
  primary key (merchant_id, case_id)
) with (fillfactor = 70);
create index due_cases_due on due_cases (merchant_id, due_at, case_id);

-- There are new facts about these cases: look now. Whoever writes facts adds a row in the same transaction; a step takes its cases out
-- before it reads the facts. So writers never wait for a step, and a step overwrites no poke that came meanwhile.
create table case_pokes (
  merchant_id uuid not null,
  id uuid not null,
  part int4 not null, -- of what one statement poked
  case_ids uuid[] not null,
  primary key (merchant_id, id, part)
);

-- The last moment given to a listed row of a merchant. Writers take the row's lock, use a later moment and commit:
-- so created_at and executed_at are in commit order, and an ascending walk never passes a row that is still to come.
create table merchant_clocks (
  merchant_id uuid primary key,
  last_at timestamptz not null
);

-- The listed table. Each write costs all its indexes: planned, sent, settled, and seldom more.
create table recovery_actions (
  merchant_id uuid not null,
  id uuid not null,
  case_id uuid not null,
  invoice_id text not null,
  subscription_id text,
  customer_id text not null,
  transaction_id text,
  payment_method_type text,
  card_country text,
  currency text not null,
  type text not null check (type in ('RETRY','CARD_CHANGE')),
  status text not null check (status in ('SCHEDULED','SENT','SUCCEEDED','FAILED','EXPIRED','CANCELED','DELIVERY_FAILED')),
  integration_type text not null default 'CUSTOM' check (integration_type in ('CUSTOM','STRIPE','CHARGEBEE','RECURLY','RECHARGE','ZUORA')),
  action_suggestion text not null check (action_suggestion in ('UNSPECIFIED','RETRY','CARD_CHANGE')),
  ideal_retry_time timestamptz not null,
  reasons jsonb not null,
  decided_at timestamptz,
  executed_at timestamptz,
  attempted_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, case_id) references cases (merchant_id, id),
  check ((executed_at is not null) = (status in ('SUCCEEDED','FAILED'))),
  check (decided_at is not null or status in ('SCHEDULED','CANCELED')),
  check (type = 'RETRY' or status <> 'FAILED')
);
create index recovery_actions_created on recovery_actions (merchant_id, created_at, id);
create index recovery_actions_updated on recovery_actions (merchant_id, updated_at, id);
create index recovery_actions_executed on recovery_actions (merchant_id, executed_at, id) where executed_at is not null;
create index recovery_actions_by_case on recovery_actions (merchant_id, case_id);
create index recovery_actions_by_invoice on recovery_actions (merchant_id, invoice_id, created_at);
create index recovery_actions_by_customer on recovery_actions (merchant_id, customer_id, created_at);
create index recovery_actions_by_subscription on recovery_actions (merchant_id, subscription_id, created_at) where subscription_id is not null;
create index recovery_actions_by_transaction on recovery_actions (merchant_id, transaction_id) where transaction_id is not null;

-- Instructions to the merchant, immutable but for the marks of how one ended. One per decision: the key says so. What is neither
-- waiting in deliveries nor marked was delivered.
create table events (
  merchant_id uuid not null,
  id uuid not null,
  case_id uuid not null,
  invoice_id text not null,
  type text not null check (type in ('recovery_action','pause_collection','complete_dunning')),
  body text not null,
  created_at timestamptz not null,
  withdrawn_at timestamptz,
  exhausted_at timestamptz,
  -- No foreign keys here and in deliveries: the case is locked, and event and delivery are born in one statement; checking each
  -- row cost as much as writing it.
  primary key (merchant_id, id)
) with (fillfactor = 90);
create unique index events_once_per_case on events (merchant_id, case_id, type) where type <> 'recovery_action';
create index events_by_case on events (merchant_id, case_id);
create index events_exhausted on events (merchant_id, id) where exhausted_at is not null;
