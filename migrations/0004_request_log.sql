-- Who asked what, when, and what was answered: one row per inbound request, for as long as a requestId may be looked up.
-- No bodies, no keys, no paths: the route is the pattern. Requests of nobody known belong to merchant 00000000-….
-- The id is what follows req_ in the requestId and begins with its moment, so a partition holds the requests of one day: a requestId is found
-- by one probe, and old days go by dropping a table. The service makes the days; what has none yet falls into the default.
create table request_log (
  merchant_id uuid not null,
  id uuid not null,
  at timestamptz not null,
  caller_request_id text,
  key_id uuid,
  method text, -- null: what came was no request that could be read
  route text not null,
  status int2 not null,
  duration_us int4 not null check (duration_us >= 0),
  records int4,
  error text,
  primary key (merchant_id, id)
) partition by range (id);
create table request_log_default partition of request_log default;
-- Refusals are few among many, and what people look for.
create index request_log_refused on request_log (merchant_id, id) where status >= 400;
