-- Experiments: who looks after a case, and what became of every invoice that failed while one ran.

-- `merchant`: the case is only watched, and left to the merchant's own system.
alter table cases add column arm text not null default 'dunlin' check (arm in ('dunlin', 'merchant'));

-- All but the end and `look_at` is fixed when it is made.
create table experiments (
  merchant_id uuid not null,
  id uuid not null,
  name text not null check (name <> ''),
  salt text not null,
  share float8 not null check (share > 0 and share < 1),
  started_at timestamptz not null,
  compared_from timestamptz not null check (compared_from >= started_at),
  stopped_at timestamptz,
  maturity_days int4 not null check (maturity_days between 1 and 365),
  primary_measure text not null check (primary_measure ~ '^(count|[A-Z]{3})$'),
  margin float8 not null check (margin > 0 and margin < 1),
  -- When what is old enough is counted and the results looked at, about once a day; null: all of a stopped one is counted.
  look_at timestamptz,
  primary key (merchant_id, id)
);
create unique index experiments_running on experiments (merchant_id) where stopped_at is null;

-- Every invoice that failed during the experiment, once, as it was then: the denominator. It is counted when it is old enough.
create table experiment_invoices (
  merchant_id uuid not null,
  experiment_id uuid not null,
  invoice_id text not null,
  customer_id text not null,
  phase text not null check (phase in ('calibration', 'comparison')),
  arm text not null check (arm in ('dunlin', 'merchant')),
  half int2 not null check (half in (1, 2)),
  amount int8 not null,
  currency text not null,
  failed_at timestamptz not null,
  counts_at timestamptz not null,
  recovered boolean, -- null: not counted yet
  primary key (merchant_id, experiment_id, invoice_id)
);
create index experiment_invoices_waiting on experiment_invoices (merchant_id, experiment_id, counts_at) where recovered is null;
create index experiment_invoices_by_customer on experiment_invoices (merchant_id, experiment_id, customer_id);

-- Sums over the customers of a cell, so that results are shown without reading invoices.
create table experiment_tallies (
  merchant_id uuid not null,
  experiment_id uuid not null,
  phase text not null,
  arm text not null,
  half int2 not null,
  measure text not null,
  customers float8 not null,
  due float8 not null,
  got float8 not null,
  due_due float8 not null,
  due_got float8 not null,
  got_got float8 not null,
  primary key (merchant_id, experiment_id, phase, arm, half, measure)
) with (fillfactor = 70);

-- What was known on a day. Each look builds on the one before: what was ruled out stays so.
create table experiment_looks (
  merchant_id uuid not null,
  experiment_id uuid not null,
  at timestamptz not null,
  look jsonb not null,
  primary key (merchant_id, experiment_id, at)
);
