-- Merchants, what they push, what is in recovery, what was decided, and what is sent.
-- Every key of a merchant's table begins with merchant_id, moments are parameters (never now()), ids are
-- UUIDv7 made by the service: so the same schema can be sharded by merchant.

create table merchants (
  id uuid primary key,
  name text not null check (name <> ''),
  bucket int2 not null check (bucket between 0 and 63),
  webhook_url text check (webhook_url ~* '^https://'),
  webhook_auth text check (webhook_auth in ('bearer', 'basic')),
  webhook_credential bytea,
  webhook_sub_paths boolean not null default false,
  webhook_flat boolean not null default false,
  webhook_cap int4 not null default 5 check (webhook_cap between 1 and 1000),
  webhook_paused boolean not null default false,
  lead_ms int8 not null default 2940000 check (lead_ms between 0 and 86400000),
  window_days int4 not null default 28 check (window_days between 1 and 365),
  budget int4 not null default 8 check (budget between 0 and 100),
  rate_per_second int4 not null default 100 check (rate_per_second between 1 and 1000000),
  rate_burst int4 not null default 100 check (rate_burst between 1 and 1000000),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((webhook_auth is null) = (webhook_credential is null))
);

-- Only the SHA-256 of a key is kept.
create table api_keys (
  id uuid primary key,
  merchant_id uuid not null references merchants,
  hash bytea not null unique check (octet_length(hash) = 32),
  prefix text not null,
  last_four text not null,
  permissions text[] not null check (cardinality(permissions) > 0),
  note text,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);

create table subscriptions (
  merchant_id uuid not null,
  id text not null,
  state text not null check (state in ('ACTIVE','CANCELED','TRIALING','PENDING','PAST_DUE','PAUSED','EXPIRED')),
  customer_id text not null,
  business_entity text,
  plan_id text,
  amount int8 not null check (amount >= 0),
  currency text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  activated_at timestamptz,
  canceled_at timestamptz,
  expires_at timestamptz,
  billing_period int4,
  billing_period_unit text check (billing_period_unit in ('DAY','WEEK','MONTH','YEAR')),
  primary key (merchant_id, id)
) with (fillfactor = 90);

create table invoices (
  merchant_id uuid not null,
  id text not null,
  state text not null check (state in ('PAID','UNPAID','DRAFT','PARTIALLY_PAID','VOIDED','UNCOLLECTIBLE','REFUNDED')),
  customer_id text not null,
  subscription_id text,
  business_entity text,
  amount int8 not null check (amount >= 0),
  currency text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (merchant_id, id)
) with (fillfactor = 90);

create table transactions (
  merchant_id uuid not null,
  id text not null,
  state text not null check (state in ('PAID','FAILED','PENDING','VOIDED','REFUNDED','DISPUTED')),
  invoice_id text not null,
  amount int8 not null check (amount >= 0),
  currency text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  customer_id text,
  subscription_id text,
  business_entity text,
  recovery_action_id text,
  payment_method_type text,
  payment_method_id text,
  payment_gateway_id text,
  payment_gateway_name text,
  payment_gateway_type text,
  payment_gateway_status text,
  payment_gateway_transaction_id text,
  payment_gateway_error_code text,
  payment_gateway_error_message text,
  network_decline_code text,
  network_advice_code text,
  decline_category text,
  card_brand text,
  card_bin text,
  card_last4 text,
  card_fingerprint text,
  card_country text,
  card_issuer text,
  card_funding text check (card_funding in ('CREDIT','DEBIT','PREPAID')),
  card_expiry_month int4,
  card_expiry_year int4,
  customer_timezone text,
  initiator text check (initiator in ('BILLING_SYSTEM','RECOVERY_ACTION','CUSTOMER','MERCHANT_MANUAL')),
  attempt_number int4,
  network_token boolean,
  primary key (merchant_id, id)
) with (fillfactor = 90);
create index transactions_by_invoice on transactions (merchant_id, invoice_id, created_at);
-- The ledger of a card: everybody's attempts in the networks' rolling windows.
create index transactions_by_fingerprint on transactions (merchant_id, card_fingerprint, created_at) where card_fingerprint is not null;
create index transactions_by_payment_method on transactions (merchant_id, payment_method_id, created_at) where payment_method_id is not null;
create index transactions_by_customer on transactions (merchant_id, customer_id, created_at) where customer_id is not null;

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

-- What is still to be sent: small and hot, the row goes when the event ends. attempts counts ended attempts of this round.
create table deliveries (
  merchant_id uuid not null,
  event_id uuid not null,
  round int4 not null default 1 check (round >= 1),
  attempts int2 not null default 0 check (attempts >= 0),
  attempts_max int2 not null check (attempts_max in (6, 7)),
  due_at timestamptz not null,
  primary key (merchant_id, event_id),
  check (attempts < attempts_max)
) with (fillfactor = 70);
create index deliveries_due on deliveries (merchant_id, due_at, event_id);

-- The delivery log: one row per ended attempt. ends says that this attempt was the event's last, and how it ended.
-- Ids of events begin with their moment, so a partition holds the attempts of one month's events: all of one event lie together, are found by
-- one probe, and the log of old events goes by dropping a table. The service makes the months; what has none yet falls into the default.
create table delivery_attempts (
  merchant_id uuid not null,
  event_id uuid not null,
  round int4 not null,
  number int2 not null check (number between 1 and 7),
  started_at timestamptz not null,
  ended_at timestamptz not null,
  duration_ms int4 not null check (duration_ms >= 0),
  ends text check (ends in ('delivered','exhausted')),
  success boolean not null generated always as (ends is not distinct from 'delivered') stored,
  status int4,
  error text,
  response text,
  head_id int8,
  -- From the start of the attempt; the first three only of one that opened its connection.
  look_up_ms int4,
  connect_ms int4,
  tls_ms int4,
  first_byte_ms int4,
  primary key (merchant_id, event_id, round, number),
  check (ended_at >= started_at)
) partition by range (event_id);
create table delivery_attempts_default partition of delivery_attempts default;

-- What attempts sent beside the body: request line and headers, secrets masked. The same for all attempts under the same settings.
create table request_heads (
  merchant_id uuid not null,
  id int8 not null, -- of the text
  head text not null,
  primary key (merchant_id, id)
);

-- Who sends for which merchants. The epoch rises with each new owner and fences what a former one still writes;
-- the backend tells at once that an owner died, expires_at (real time) that it hangs.
create table bucket_leases (
  bucket int2 primary key check (bucket between 0 and 63),
  owner uuid,
  epoch int8 not null default 0,
  expires_at timestamptz,
  backend_pid int4,
  backend_start timestamptz
);
insert into bucket_leases (bucket) select generate_series(0, 63);

-- Service time: service_at + (real - real_at) * rate, the same for every process.
create table clock_anchor (
  id int2 primary key check (id = 1),
  real_at timestamptz not null,
  service_at timestamptz not null,
  rate float8 not null check (rate > 0)
);

-- A fingerprint of the key that the credentials are encrypted with: a process with another key must not start.
create table installation (
  id int2 primary key check (id = 1),
  key_check bytea not null
);
