-- What was learned from outcomes, and what each decision rested on.

-- Which engine decides for a merchant, and whether its outcomes teach the model that all who share use.
alter table merchants add column engine text not null default 'learned' check (engine in ('learned','static'));
alter table merchants add column shares_learning boolean not null default true;

-- A customer's earlier bills: also where no attempt was ever pushed they say when the card works.
create index invoices_by_customer on invoices (merchant_id, customer_id, created_at);

-- The models: 00000000-… is the one of all merchants that share, any other the own one of a merchant that does not. A row's version
-- rises with each write, and whoever writes says which version it read: so there is one writer, whatever leases say.
create table learned_models (
  merchant_id uuid primary key,
  layout text not null,
  version int8 not null,
  changed_at timestamptz not null
);

-- The numbers of a model, in parts: only those that changed are written and read. Little-endian float8.
create table learned_parts (
  merchant_id uuid not null,
  name text not null,
  version int8 not null, -- of the model, when this part was written
  numbers bytea not null,
  primary key (merchant_id, name)
);

-- How far a merchant's outcomes have been learned, and in what it differs from the others that share. Outcomes are listed in the order
-- of executed_at, which is the order of commits: what lies behind the cursor was learned, once, in the transaction that moved it.
create table learned_merchants (
  merchant_id uuid primary key,
  executed_at timestamptz not null,
  action_id uuid not null,
  lessons int8 not null check (lessons >= 0),
  version int8 not null,
  numbers bytea not null
);

-- Who learns, so that two do not do the same work. Real time.
create table learner_lease (
  id int2 primary key check (id = 1),
  owner uuid,
  expires_at timestamptz
);
insert into learner_lease (id) values (1);

-- What was decided in a case when something had changed, and what that rested on: made once, never changed. The ids of cases begin with their
-- moment, so a partition holds the decisions on the cases that were opened in its month.
create table decisions (
  merchant_id uuid not null,
  case_id uuid not null,
  number int4 not null check (number >= 1),
  made_at timestamptz not null,
  engine text not null check (engine in ('learned','static')),
  model_version int8, -- null: nothing learned took part
  kind text not null check (kind in ('retry','card_change','stop','wait')),
  action_id uuid,
  ideal_time timestamptz,
  -- The chance that was given to the try, and the one with which this moment was chosen among others.
  chance float8 check (chance between 0 and 1),
  propensity float8 check (propensity > 0 and propensity <= 1),
  facts text not null, -- a fingerprint: the same facts, the same plan
  account jsonb not null,
  primary key (merchant_id, case_id, number),
  check ((kind in ('retry','card_change')) = (ideal_time is not null)),
  check ((chance is null) = (propensity is null))
) partition by range (case_id);
create table decisions_default partition of decisions default;
