-- Trace contexts (W3C traceparent) of requests and decisions, so that spans of several processes make one trace. Only sampled
-- contexts are stored: without a tracing SDK the table stays empty and the column null.

create table case_traces (
  merchant_id uuid not null,
  case_id uuid not null,
  traceparent text collate "C" not null,
  at timestamptz not null,
  constraint case_traces_pkey primary key (merchant_id, case_id, traceparent)
);
comment on table case_traces is 'Traced requests that queued a case. A step continues the latest, links the others and deletes them.';
comment on column case_traces.at is 'When the request was stored.';

alter table case_traces alter column merchant_id set (n_distinct = 1);
alter table case_traces enable row level security;
alter table case_traces force row level security;
create policy wall on case_traces using (merchant_id = nullif(current_setting('dunlin.merchant', true), '')::uuid);
create policy every_merchant on case_traces to current_user
  using (case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0);

alter table deliveries add column traceparent text collate "C";
comment on column deliveries.traceparent is 'The trace context of the decision that made the event; null: not traced.';
