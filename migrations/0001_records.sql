-- Merchants, and what they push.
-- In all migrations: every key of a merchant's table begins with merchant_id, moments are parameters (never now()), ids are
-- UUIDv7 made by the service: so the same schema can be sharded by merchant.

create table merchants (
  id uuid primary key,
  name text not null check (name <> ''),
  bucket int2 not null check (bucket between 0 and 63),
  webhook_url text check (webhook_url ~* '^https://'),
  webhook_auth text check (webhook_auth in ('bearer', 'basic')),
  webhook_credential bytea,
  -- Secrets by which the endpoint checks the signature of what we send: AES-256-GCM boxes, as the credential. While a rotation lasts
  -- there are two, and the older one signs until its moment (service time) has come.
  webhook_secret bytea,
  webhook_old_secret bytea,
  webhook_old_secret_until timestamptz,
  webhook_sub_paths boolean not null default false,
  webhook_flat boolean not null default false,
  webhook_cap int4 not null default 5 check (webhook_cap between 1 and 1000),
  webhook_rate int4 check (webhook_rate between 1 and 10000), -- requests per second; null: as fast as the cap lets through
  webhook_failing_since timestamptz, -- since when every attempt has failed
  -- Who paused the deliveries when: a person, or Dunlin after days of failures.
  webhook_paused boolean not null default false,
  webhook_paused_at timestamptz,
  webhook_paused_by text check (webhook_paused_by in ('person', 'dunlin')),
  lead_ms int8 not null default 2940000 check (lead_ms between 0 and 86400000),
  window_days int4 not null default 28 check (window_days between 1 and 365),
  budget int4 not null default 8 check (budget between 0 and 100),
  rate_per_second int4 not null default 100 check (rate_per_second between 1 and 1000000),
  rate_burst int4 not null default 100 check (rate_burst between 1 and 1000000),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((webhook_auth is null) = (webhook_credential is null)),
  check ((webhook_old_secret is null) = (webhook_old_secret_until is null)),
  check (webhook_secret is not null or webhook_old_secret is null),
  check ((webhook_paused_at is null) = (webhook_paused_by is null)),
  check (webhook_paused or webhook_paused_at is null)
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
