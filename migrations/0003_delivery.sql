-- What is sent, and what all processes agree on.

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
