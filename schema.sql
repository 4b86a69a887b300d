create table action_counts (
  merchant_id uuid not null,
  facets text collate "C" not null,
  actions int8 not null,
  constraint action_counts_pkey primary key (merchant_id, facets)
) with (fillfactor=50);
alter table action_counts alter column merchant_id set (n_distinct=1);
alter table action_counts enable row level security;
alter table action_counts force row level security;
create policy every_merchant on action_counts to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on action_counts using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table action_counts is 'Number of listed actions by facets. The statement that writes actions updates it, under the clock lock of the merchant.';

create table merchants (
  id uuid not null,
  name text not null,
  bucket int2 not null,
  webhook_url text,
  webhook_auth text,
  webhook_credential bytea,
  webhook_secret bytea,
  webhook_old_secret bytea,
  webhook_old_secret_until timestamptz,
  webhook_sub_paths boolean not null default false,
  webhook_flat boolean not null default false,
  webhook_cap int4 not null default 5,
  webhook_rate int4,
  webhook_failing_since timestamptz,
  webhook_paused boolean not null default false,
  webhook_paused_at timestamptz,
  webhook_paused_by text,
  lead_ms int8 not null default 2940000,
  window_days int4 not null default 28,
  budget int4 not null default 8,
  rate_per_second int4 not null default 100,
  rate_burst int4 not null default 100,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  engine text not null default 'learned',
  shares_learning boolean not null default true,
  shadow boolean not null default false,
  smallest_amount int8 not null default 0,
  explore boolean,
  sends_recovery_ended boolean not null default false,
  reporting_currency text,
  constraint merchants_pkey primary key (id),
  constraint merchants_bucket_check check ((bucket >= 0) and (bucket <= 63)),
  constraint merchants_budget_check check ((budget >= 0) and (budget <= 100)),
  constraint merchants_check check ((webhook_auth is null) = (webhook_credential is null)),
  constraint merchants_check1 check ((webhook_old_secret is null) = (webhook_old_secret_until is null)),
  constraint merchants_check2 check ((webhook_secret is not null) or (webhook_old_secret is null)),
  constraint merchants_check3 check ((webhook_paused_at is null) = (webhook_paused_by is null)),
  constraint merchants_check4 check (webhook_paused or (webhook_paused_at is null)),
  constraint merchants_engine_check check (engine = any (array['learned', 'static'])),
  constraint merchants_lead_ms_check check ((lead_ms >= 0) and (lead_ms <= 86400000)),
  constraint merchants_name_check check (name <> ''),
  constraint merchants_rate_burst_check check ((rate_burst >= 1) and (rate_burst <= 1000000)),
  constraint merchants_rate_per_second_check check ((rate_per_second >= 1) and (rate_per_second <= 1000000)),
  constraint merchants_reporting_currency_check check (reporting_currency ~ '^[A-Z]{3}$'),
  constraint merchants_smallest_amount_check check (smallest_amount >= 0),
  constraint merchants_webhook_auth_check check (webhook_auth = any (array['bearer', 'basic'])),
  constraint merchants_webhook_cap_check check ((webhook_cap >= 1) and (webhook_cap <= 1000)),
  constraint merchants_webhook_paused_by_check check (webhook_paused_by = any (array['person', 'dunlin'])),
  constraint merchants_webhook_rate_check check ((webhook_rate >= 1) and (webhook_rate <= 10000)),
  constraint merchants_webhook_url_check check (webhook_url ~* '^https://'),
  constraint merchants_window_days_check check ((window_days >= 1) and (window_days <= 365))
);
alter table merchants enable row level security;
alter table merchants force row level security;
create policy every_merchant on merchants to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on merchants using ((id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table merchants is 'Merchants and their settings. Secrets are AES-256-GCM boxes.';
comment on column merchants.webhook_old_secret is 'Signs until webhook_old_secret_until during a rotation.';
comment on column merchants.webhook_cap is 'Maximum number of concurrent deliveries.';
comment on column merchants.explore is 'Whether first retries are sampled; null: from 500 outcomes on.';
comment on column merchants.sends_recovery_ended is 'Whether the endpoint gets recovery_ended when a case ends.';

create table api_keys (
  id uuid not null,
  merchant_id uuid not null,
  hash bytea not null,
  prefix text not null,
  last_four text not null,
  permissions text[] not null,
  note text,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  made_by text,
  replaces uuid,
  integration_type text,
  constraint api_keys_pkey primary key (id),
  constraint api_keys_hash_check check (octet_length(hash) = 32),
  constraint api_keys_hash_key unique (hash),
  constraint api_keys_integration_type_check check (integration_type = any (array['STRIPE', 'CHARGEBEE', 'RECURLY', 'RECHARGE', 'ZUORA'])),
  constraint api_keys_merchant_id_fkey foreign key (merchant_id) references merchants(id),
  constraint api_keys_permissions_check check (cardinality(permissions) > 0)
);
alter table api_keys enable row level security;
alter table api_keys force row level security;
create policy every_merchant on api_keys to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on api_keys using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table api_keys is 'API keys. Only the SHA-256 of a key is stored.';
comment on column api_keys.replaces is 'The key that this one replaces in a rotation.';
comment on column api_keys.integration_type is 'The billing system whose connector uses the key; null for the merchant''s own programs.';

create table audit_log (
  merchant_id uuid not null,
  id uuid not null,
  at timestamptz not null,
  person_id uuid,
  actor text not null,
  deed text not null,
  object text not null,
  details jsonb not null,
  address text,
  constraint audit_log_pkey primary key (merchant_id, id)
);
alter table audit_log enable row level security;
alter table audit_log force row level security;
create rule audit_log_is_not_deleted as on delete to audit_log where ((coalesce(current_setting('dunlin.erasing', true), '') <> 'on') or (current_user = 'dunlin_api')) do instead nothing;
create rule audit_log_is_not_updated as on update to audit_log where ((coalesce(current_setting('dunlin.erasing', true), '') <> 'on') or (current_user = 'dunlin_api')) do instead nothing;
create policy every_merchant on audit_log to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on audit_log using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table audit_log is 'Changes of settings, people and keys, written in the transaction of the change. Never contains secrets.';

create table bucket_leases (
  bucket int2 not null,
  owner uuid,
  epoch int8 not null default 0,
  expires_at timestamptz,
  backend_pid int4,
  backend_start timestamptz,
  constraint bucket_leases_pkey primary key (bucket),
  constraint bucket_leases_bucket_check check ((bucket >= 0) and (bucket <= 63))
);
comment on table bucket_leases is 'The delivering process of each bucket of merchants. The epoch rises with each new owner and fences late writes of a former one.';
comment on column bucket_leases.expires_at is 'Real time. Tells that the owner hangs; backend_pid tells at once that it died.';

create table case_pokes (
  merchant_id uuid not null,
  id uuid not null,
  part int4 not null,
  case_ids uuid[] not null,
  constraint case_pokes_pkey primary key (merchant_id, id, part)
);
alter table case_pokes alter column merchant_id set (n_distinct=1);
alter table case_pokes enable row level security;
alter table case_pokes force row level security;
create policy every_merchant on case_pokes to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on case_pokes using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table case_pokes is 'The queue of cases to reevaluate because facts about them changed. Code that writes facts adds an entry in the same transaction; a step removes its cases before it reads the facts.';
comment on column case_pokes.part is 'One statement may write several entries; they are numbered.';

create table case_traces (
  merchant_id uuid not null,
  case_id uuid not null,
  traceparent text collate "C" not null,
  at timestamptz not null,
  constraint case_traces_pkey primary key (merchant_id, case_id, traceparent)
);
alter table case_traces alter column merchant_id set (n_distinct=1);
alter table case_traces enable row level security;
alter table case_traces force row level security;
create policy every_merchant on case_traces to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on case_traces using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table case_traces is 'Traced requests that queued a case. A step continues the latest, links the others and deletes them.';
comment on column case_traces.at is 'When the request was stored.';

create table cases (
  merchant_id uuid not null,
  id uuid not null,
  invoice_id text collate "C" not null,
  customer_id text collate "C" not null,
  subscription_id text collate "C",
  unpaid_at timestamptz not null,
  window_ends_at timestamptz not null,
  budget int4 not null,
  opened_at timestamptz not null,
  ended_at timestamptz,
  end_reason text,
  paid_at timestamptz,
  invoice_left boolean not null default false,
  arm text not null default 'dunlin',
  amount int8 not null,
  currency text not null,
  recovered boolean not null default false,
  postponed_until timestamptz,
  decline_group text,
  decline_code text,
  payment_method text,
  card_country text,
  card_issuer text,
  plan_id text collate "C",
  amount_band text,
  tries int2[] not null default '{}'::int2[],
  counted text,
  counted_amount int8,
  rule_id uuid,
  rule_window_days int4,
  rule_budget int4,
  outcome text collate "C" not null generated always as ( case when (arm <> 'dunlin') then 'watched' when (ended_at is null) then 'open' when recovered then 'recovered' when (end_reason = 'paid') then 'paid' when (end_reason = any (array['voided', 'refunded', 'draft', 'settled', 'left_out'])) then 'stopped' else 'lost' end) stored,
  constraint cases_pkey primary key (merchant_id, id),
  constraint cases_arm_check check (arm = any (array['dunlin', 'merchant', 'shadow'])),
  constraint cases_budget_check check (budget >= 0),
  constraint cases_check check ((ended_at is null) = (end_reason is null)),
  constraint cases_check1 check ((paid_at is null) or (end_reason = 'paid')),
  constraint cases_check2 check (window_ends_at > unpaid_at),
  constraint cases_counted_amount_check check ((counted is null) = (counted_amount is null)),
  constraint cases_counted_check check (counted = any (array['recovered', 'paid', 'lost'])),
  constraint cases_end_reason_check check (end_reason = any (array['paid', 'voided', 'uncollectible', 'refunded', 'draft', 'subscription_canceled', 'subscription_expired', 'window_over', 'budget_used', 'hopeless', 'stopped_by_hand', 'settled', 'left_out']))
);
alter table cases alter column merchant_id set (n_distinct=1);
create index cases_by_customer on cases (merchant_id, customer_id);
create index cases_by_invoice on cases (merchant_id, invoice_id);
create index cases_by_outcome on cases (merchant_id, outcome, id) include (currency, amount);
create index cases_by_subscription on cases (merchant_id, subscription_id) where subscription_id is not null;
create index cases_ended on cases (merchant_id, ended_at) include (outcome, currency, amount, unpaid_at) where ended_at is not null;
create index cases_ended_with_subscription on cases (merchant_id, subscription_id) where end_reason = any (array['subscription_canceled', 'subscription_expired']);
create index cases_failed on cases (merchant_id, unpaid_at);
create index cases_in_shadow on cases (merchant_id, unpaid_at, id) where arm = 'shadow';
create unique index cases_open on cases (merchant_id, invoice_id) where ended_at is null;
create index cases_open_by_window on cases (merchant_id, window_ends_at) include (currency, amount) where outcome = 'open';
create index cases_open_of_customer on cases (merchant_id, customer_id) where coalesce(ended_at, 'infinity'::timestamptz) = 'infinity'::timestamptz;
alter table cases enable row level security;
alter table cases force row level security;
create policy every_merchant on cases to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on cases using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table cases is 'One recovery of an unpaid invoice. An invoice that becomes unpaid again gets a new case.';
comment on column cases.invoice_left is 'Whether the invoice was seen out of recovery. Only then can a later unpaid version open a new case.';
comment on column cases.arm is 'dunlin: Dunlin acts. merchant: the holdout of an experiment. shadow: decisions are recorded and no event is sent.';
comment on column cases.amount is 'Amount due by the last version before the case ended, or by the version that ended it.';
comment on column cases.recovered is 'Whether an instruction of Dunlin brought in the payment, even after the case ended.';
comment on column cases.postponed_until is 'Until when a person or program of the merchant allows no retry.';
comment on column cases.decline_group is 'Of the first declined attempt; null: none was pushed.';
comment on column cases.decline_code is 'Of the first declined attempt, as the network or the gateway gave it.';
comment on column cases.payment_method is 'Card network, or the payment method, of the first declined attempt.';
comment on column cases.plan_id is 'Of the invoice''s subscription.';
comment on column cases.amount_band is 'Lower bound of the amount''s band in major units.';
comment on column cases.tries is 'Executed retries, earliest first: hour of the week on the customer''s clock, from Monday 0:00, times 2; plus 1 if paid.';
comment on column cases.counted is 'The outcome with which recovery_sums holds the case; null: it does not.';
comment on column cases.rule_id is 'The recovery rule that decides; null: none fits.';
comment on column cases.rule_window_days is 'The window that the rule gave; null: it gave none.';
comment on column cases.rule_budget is 'The budget that the rule gave; null: it gave none.';

create table chat_webhooks (
  merchant_id uuid not null,
  url bytea not null,
  shown text not null,
  alerts text[] not null,
  created_at timestamptz not null,
  answered_at timestamptz,
  answer text,
  delivered boolean,
  constraint chat_webhooks_pkey primary key (merchant_id),
  constraint chat_webhooks_answer_check check (((answered_at is null) = (answer is null)) and ((answer is null) = (delivered is null))),
  constraint chat_webhooks_merchant_id_fkey foreign key (merchant_id) references merchants(id)
);
alter table chat_webhooks alter column merchant_id set (n_distinct=1);
alter table chat_webhooks enable row level security;
alter table chat_webhooks force row level security;
create policy every_merchant on chat_webhooks to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on chat_webhooks using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table chat_webhooks is 'The chat that gets the alerts of a merchant.';
comment on column chat_webhooks.url is 'Encrypted like the webhook credential, because whoever has it can post.';
comment on column chat_webhooks.shown is 'The URL without its secret part.';
comment on column chat_webhooks.answer is 'How the chat answered last, such as "200".';

create table clock_anchor (
  id int2 not null,
  real_at timestamptz not null,
  service_at timestamptz not null,
  rate float8 not null,
  constraint clock_anchor_pkey primary key (id),
  constraint clock_anchor_id_check check (id = 1),
  constraint clock_anchor_rate_check check (rate > (0)::float8)
);
comment on table clock_anchor is 'Service time is service_at + (real time - real_at) * rate, in every process.';

create table connections (
  merchant_id uuid not null,
  name text not null,
  is_live boolean not null,
  secrets bytea not null,
  settings jsonb not null,
  local_port int4,
  created_at timestamptz not null,
  paused_at timestamptz,
  paused_by text,
  seen_at timestamptz,
  ending_at timestamptz,
  constraint connections_pkey primary key (merchant_id, name),
  constraint connections_name_check check (name = any (array['stripe']))
);
alter table connections alter column merchant_id set (n_distinct=1);
alter table connections enable row level security;
alter table connections force row level security;
create policy every_merchant on connections to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on connections using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table connections is 'One row per billing account that a connector serves.';
comment on column connections.name is 'The billing system. A merchant connects one account of each.';
comment on column connections.is_live is 'Whether the account takes real money; test and live mode are never mixed.';
comment on column connections.secrets is 'Keys and tokens of both sides as JSON, encrypted like the webhook credential.';
comment on column connections.settings is 'The merchant''s choices, such as the end of dunning and messages.';
comment on column connections.local_port is 'On which the connector listens on this machine for Dunlin''s webhooks; null: it has a public address.';
comment on column connections.paused_at is 'While set, the connector charges nothing and writes to no customer; facts are still read.';
comment on column connections.seen_at is 'When the connector last reported.';
comment on column connections.ending_at is 'Since when its invoices are given back; its connector then ends, and takes over no more.';

create table connector_actions (
  merchant_id uuid not null,
  connection text not null,
  id text collate "C" not null,
  invoice_id text collate "C" not null,
  suggestion text not null,
  due_at timestamptz not null,
  state text not null,
  charge_id text collate "C",
  problem text,
  begun_at timestamptz,
  ended_at timestamptz,
  tries int4 not null default 0,
  retry_at timestamptz,
  constraint connector_actions_pkey primary key (merchant_id, connection, id),
  constraint connector_actions_state_check check (state = any (array['planned', 'charging', 'charged', 'declined', 'skipped', 'asked']))
);
alter table connector_actions alter column merchant_id set (n_distinct=1);
create index connector_actions_due on connector_actions (merchant_id, connection, due_at) where ended_at is null;
create index connector_actions_of_charge on connector_actions (merchant_id, connection, charge_id) where charge_id is not null;
create index connector_actions_of_invoice on connector_actions (merchant_id, connection, invoice_id);
alter table connector_actions enable row level security;
alter table connector_actions force row level security;
create policy every_merchant on connector_actions to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on connector_actions using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table connector_actions is 'Recovery actions and the charges that they led to. An action is charged once, whatever dies.';
comment on column connector_actions.begun_at is 'When a charge may have been made for the first time.';
comment on column connector_actions.retry_at is 'When it is tried again; null: at due_at.';

create table connector_cursors (
  merchant_id uuid not null,
  connection text not null,
  name text not null,
  value text not null,
  constraint connector_cursors_pkey primary key (merchant_id, connection, name)
);
alter table connector_cursors alter column merchant_id set (n_distinct=1);
alter table connector_cursors enable row level security;
alter table connector_cursors force row level security;
create policy every_merchant on connector_cursors to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on connector_cursors using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table connector_cursors is 'How far a connector has read, when it last heard from both sides, and the count of its reads.';

create table connector_events (
  merchant_id uuid not null,
  connection text not null,
  id text collate "C" not null,
  invoice_id text collate "C",
  event jsonb not null,
  kept_at timestamptz not null,
  due_at timestamptz,
  tries int4 not null default 0,
  problem text,
  constraint connector_events_pkey primary key (merchant_id, connection, id)
);
alter table connector_events alter column merchant_id set (n_distinct=1);
create index connector_events_due on connector_events (merchant_id, connection, due_at) where due_at is not null;
create index connector_events_failing on connector_events (merchant_id, connection) where problem is not null;
create index connector_events_of_invoice on connector_events (merchant_id, connection, invoice_id);
alter table connector_events enable row level security;
alter table connector_events force row level security;
create policy every_merchant on connector_events to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on connector_events using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table connector_events is 'Dunlin''s webhooks as a connector received them.';
comment on column connector_events.due_at is 'When it is handled, or tried again; null: done or given up.';

create table connector_hints (
  merchant_id uuid not null,
  connection text not null,
  object_id text collate "C" not null,
  generation int8 not null default 1,
  noted_at timestamptz not null,
  due_at timestamptz not null,
  tries int4 not null default 0,
  problem text,
  constraint connector_hints_pkey primary key (merchant_id, connection, object_id)
);
alter table connector_hints alter column merchant_id set (n_distinct=1);
create index connector_hints_due on connector_hints (merchant_id, connection, due_at);
create index connector_hints_failing on connector_hints (merchant_id, connection) where problem is not null;
alter table connector_hints enable row level security;
alter table connector_hints force row level security;
create policy every_merchant on connector_hints to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on connector_hints using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table connector_hints is 'Objects of the provider that changed and have to be read again. A row ends when that is done.';
comment on column connector_hints.generation is 'Rises with each new hint, so that one that comes during a read is not lost.';
comment on column connector_hints.problem is 'Why the last try failed; null: not tried, or not failed.';

create table connector_invoices (
  merchant_id uuid not null,
  connection text not null,
  invoice_id text collate "C" not null,
  customer_id text collate "C",
  since timestamptz not null,
  ended_at timestamptz,
  released_at timestamptz,
  checked_at timestamptz,
  constraint connector_invoices_pkey primary key (merchant_id, connection, invoice_id)
);
alter table connector_invoices alter column merchant_id set (n_distinct=1);
create index connector_invoices_of_customer on connector_invoices (merchant_id, connection, customer_id) where ended_at is null;
create index connector_invoices_unreleased on connector_invoices (merchant_id, connection, ended_at) where (ended_at is not null) and (released_at is null);
alter table connector_invoices enable row level security;
alter table connector_invoices force row level security;
create policy every_merchant on connector_invoices to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on connector_invoices using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table connector_invoices is 'Invoices whose retries by the provider are off, because Dunlin handles them.';
comment on column connector_invoices.customer_id is 'Null: not read yet; erased: the customer was erased, and the row goes when the invoice is given back.';
comment on column connector_invoices.ended_at is 'Of the event that says that Dunlin no longer handles it.';
comment on column connector_invoices.released_at is 'When the provider''s side was left as the merchant chose.';
comment on column connector_invoices.checked_at is 'When Dunlin was last asked whether it still handles it, in case the event of its end was lost.';

create table connector_messages (
  merchant_id uuid not null,
  connection text not null,
  id text collate "C" not null,
  invoice_id text collate "C" not null,
  customer_id text collate "C" not null,
  number int4 not null,
  due_at timestamptz not null,
  state text not null,
  language text,
  problem text,
  ended_at timestamptz,
  tries int4 not null default 0,
  constraint connector_messages_pkey primary key (merchant_id, connection, id),
  constraint connector_messages_state_check check (state = any (array['planned', 'sending', 'sent', 'skipped', 'failed']))
);
alter table connector_messages alter column merchant_id set (n_distinct=1);
create index connector_messages_due on connector_messages (merchant_id, connection, due_at) where ended_at is null;
create index connector_messages_failing on connector_messages (merchant_id, connection) where problem is not null;
create index connector_messages_of_invoice on connector_messages (merchant_id, connection, invoice_id);
alter table connector_messages enable row level security;
alter table connector_messages force row level security;
create policy every_merchant on connector_messages to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on connector_messages using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table connector_messages is 'Mails to customers, without names and addresses: those are read from the provider when a mail is sent.';
comment on column connector_messages.number is 'Of the invoice: 1 is the first mail, the others are reminders.';

create table connector_opt_outs (
  merchant_id uuid not null,
  connection text not null,
  customer text not null,
  at timestamptz not null,
  constraint connector_opt_outs_pkey primary key (merchant_id, connection, customer)
);
alter table connector_opt_outs alter column merchant_id set (n_distinct=1);
alter table connector_opt_outs enable row level security;
alter table connector_opt_outs force row level security;
create policy every_merchant on connector_opt_outs to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on connector_opt_outs using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table connector_opt_outs is 'Customers that want no mails. Kept for good.';
comment on column connector_opt_outs.customer is 'SHA-256 of the provider''s id, so that it can be kept after the customer was erased.';

create table connector_payments (
  merchant_id uuid not null,
  connection text not null,
  payment_id text collate "C" not null,
  invoice_id text collate "C" not null,
  customer_id text collate "C",
  subscription_id text collate "C",
  constraint connector_payments_pkey primary key (merchant_id, connection, payment_id)
);
alter table connector_payments alter column merchant_id set (n_distinct=1);
create index connector_payments_of_invoice on connector_payments (merchant_id, connection, invoice_id);
alter table connector_payments enable row level security;
alter table connector_payments force row level security;
create policy every_merchant on connector_payments to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on connector_payments using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table connector_payments is 'The invoices of payments while history is read: attempts are listed without their invoice.';

create table connector_versions (
  merchant_id uuid not null,
  connection text not null,
  object_id text collate "C" not null,
  version_at timestamptz not null,
  digest text not null,
  read_no int8 not null,
  constraint connector_versions_pkey primary key (merchant_id, connection, object_id)
);
alter table connector_versions alter column merchant_id set (n_distinct=1);
alter table connector_versions enable row level security;
alter table connector_versions force row level security;
create policy every_merchant on connector_versions to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on connector_versions using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table connector_versions is 'The versions of pushed records, because providers date changes by the second or not at all.';
comment on column connector_versions.version_at is 'Pushed as updatedAt; strictly later for each change.';
comment on column connector_versions.digest is 'Of the pushed record; the same record has the same version.';
comment on column connector_versions.read_no is 'The read that saw it. An earlier read changes nothing any more.';

create table decisions (
  merchant_id uuid not null,
  case_id uuid not null,
  number int4 not null,
  made_at timestamptz not null,
  engine text not null,
  model_version int8,
  kind text not null,
  action_id uuid,
  ideal_time timestamptz,
  chance float8,
  propensity float8,
  facts text not null,
  account jsonb not null,
  constraint decisions_pkey primary key (merchant_id, case_id, number),
  constraint decisions_chance_check check ((chance >= (0)::float8) and (chance <= (1)::float8)),
  constraint decisions_check check ((kind = any (array['retry', 'card_change'])) = (ideal_time is not null)),
  constraint decisions_check1 check ((chance is null) = (propensity is null)),
  constraint decisions_engine_check check (engine = any (array['learned', 'static'])),
  constraint decisions_kind_check check (kind = any (array['retry', 'card_change', 'stop', 'wait'])),
  constraint decisions_number_check check (number >= 1),
  constraint decisions_propensity_check check ((propensity > (0)::float8) and (propensity <= (1)::float8))
) partition by range (case_id);
alter table decisions enable row level security;
alter table decisions force row level security;
create policy every_merchant on decisions to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on decisions using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table decisions is 'Each decision of a case with its grounds. Rows never change. Case ids begin with their time, so a partition holds the cases of one month.';
comment on column decisions.chance is 'Predicted probability that the retry is approved.';
comment on column decisions.propensity is 'Probability with which this time was chosen among the candidates.';
comment on column decisions.facts is 'A fingerprint of the facts: the same facts lead to the same plan.';
comment on column decisions.account is 'The grounds, as explain shows them.';

create table deliveries (
  merchant_id uuid not null,
  event_id uuid not null,
  round int4 not null default 1,
  attempts int2 not null default 0,
  attempts_max int2 not null,
  due_at timestamptz not null,
  traceparent text collate "C",
  constraint deliveries_pkey primary key (merchant_id, event_id),
  constraint deliveries_attempts_check check (attempts >= 0),
  constraint deliveries_attempts_max_check check (attempts_max = any (array[6, 7])),
  constraint deliveries_check check (attempts < attempts_max),
  constraint deliveries_round_check check (round >= 1)
) with (fillfactor=70);
alter table deliveries alter column merchant_id set (n_distinct=1);
create index deliveries_due on deliveries (merchant_id, due_at, event_id);
alter table deliveries enable row level security;
alter table deliveries force row level security;
create policy every_merchant on deliveries to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on deliveries using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table deliveries is 'Events that are still to be sent. The row is deleted when the event ends. An event that is neither here nor marked was delivered.';
comment on column deliveries.attempts is 'Ended attempts of this round. A replay begins a new round.';
comment on column deliveries.traceparent is 'The trace context of the decision that made the event; null: not traced.';

create table delivery_attempts (
  merchant_id uuid not null,
  event_id uuid not null,
  round int4 not null,
  number int2 not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  duration_ms int4 not null,
  ends text,
  success boolean not null generated always as ((not (ends is distinct from 'delivered'))) stored,
  status int4,
  error text,
  response text,
  head_id int8,
  look_up_ms int4,
  connect_ms int4,
  tls_ms int4,
  first_byte_ms int4,
  constraint delivery_attempts_pkey primary key (merchant_id, event_id, round, number),
  constraint delivery_attempts_check check (ended_at >= started_at),
  constraint delivery_attempts_duration_ms_check check (duration_ms >= 0),
  constraint delivery_attempts_ends_check check (ends = any (array['delivered', 'exhausted'])),
  constraint delivery_attempts_number_check check ((number >= 1) and (number <= 7))
) partition by range (event_id);
create index delivery_attempts_started on only public.delivery_attempts using brin (started_at) with (autosummarize='on');
alter table delivery_attempts enable row level security;
alter table delivery_attempts force row level security;
create policy every_merchant on delivery_attempts to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on delivery_attempts using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table delivery_attempts is 'The delivery log: one row per ended attempt. Event ids begin with their time, so a partition holds the events of one month.';
comment on column delivery_attempts.ends is 'How this attempt ended the event; null if the event continues.';
comment on column delivery_attempts.head_id is 'The request line and headers, in request_heads.';

create table due_cases (
  merchant_id uuid not null,
  case_id uuid not null,
  due_at timestamptz not null,
  failures int4 not null default 0,
  constraint due_cases_pkey primary key (merchant_id, case_id)
) with (fillfactor=70);
alter table due_cases alter column merchant_id set (n_distinct=1);
create index due_cases_due on due_cases (merchant_id, due_at, case_id);
create index due_cases_of_all on due_cases (due_at, merchant_id);
alter table due_cases enable row level security;
alter table due_cases force row level security;
create policy every_merchant on due_cases to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on due_cases using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table due_cases is 'When the deciding loop looks at a case again. Separate from cases, because each step moves the due time and would update every index of cases.';
comment on column due_cases.failures is 'Consecutive failed attempts to process the case.';

create table events (
  merchant_id uuid not null,
  id uuid not null,
  case_id uuid not null,
  invoice_id text collate "C" not null,
  type text not null,
  body text not null,
  created_at timestamptz not null,
  withdrawn_at timestamptz,
  exhausted_at timestamptz,
  constraint events_pkey primary key (merchant_id, id),
  constraint events_type_check check (type = any (array['recovery_action', 'pause_collection', 'complete_dunning', 'recovery_ended']))
) with (fillfactor=90);
alter table events alter column merchant_id set (n_distinct=1);
create index events_by_case on events (merchant_id, case_id);
create index events_exhausted on events (merchant_id, id) where exhausted_at is not null;
create unique index events_once_per_case on events (merchant_id, case_id, type) where type <> 'recovery_action';
alter table events enable row level security;
alter table events force row level security;
create policy every_merchant on events to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on events using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table events is 'Instructions to the merchant. Only the marks of their end change. The primary key allows one event per decision.';

create table executed_counts (
  merchant_id uuid not null,
  span text not null,
  starts_at timestamptz not null,
  facets text collate "C" not null,
  actions int8 not null,
  constraint executed_counts_pkey primary key (merchant_id, span, starts_at, facets),
  constraint executed_counts_span_check check (span = any (array['month', 'day', '3h']))
) with (fillfactor=50);
alter table executed_counts alter column merchant_id set (n_distinct=1);
alter table executed_counts enable row level security;
alter table executed_counts force row level security;
create policy every_merchant on executed_counts to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on executed_counts using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table executed_counts is 'Number of executed actions per month, day and three hours in UTC, by facets.';

create table experiment_invoices (
  merchant_id uuid not null,
  experiment_id uuid not null,
  invoice_id text collate "C" not null,
  customer_id text collate "C" not null,
  phase text not null,
  arm text not null,
  half int2 not null,
  amount int8 not null,
  currency text not null,
  failed_at timestamptz not null,
  counts_at timestamptz not null,
  recovered boolean,
  constraint experiment_invoices_pkey primary key (merchant_id, experiment_id, invoice_id),
  constraint experiment_invoices_arm_check check (arm = any (array['dunlin', 'merchant'])),
  constraint experiment_invoices_half_check check (half = any (array[1, 2])),
  constraint experiment_invoices_phase_check check (phase = any (array['calibration', 'comparison']))
);
alter table experiment_invoices alter column merchant_id set (n_distinct=1);
create index experiment_invoices_by_customer on experiment_invoices (merchant_id, experiment_id, customer_id);
create index experiment_invoices_waiting on experiment_invoices (merchant_id, experiment_id, counts_at) where recovered is null;
alter table experiment_invoices enable row level security;
alter table experiment_invoices force row level security;
create policy every_merchant on experiment_invoices to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on experiment_invoices using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table experiment_invoices is 'Every invoice that failed during an experiment, as it was then. It counts once it is mature.';
comment on column experiment_invoices.half is 'Customers are split in two halves by a hash, to estimate the noise.';
comment on column experiment_invoices.counts_at is 'When the invoice is mature: paid or not, it counts.';

create table experiment_looks (
  merchant_id uuid not null,
  experiment_id uuid not null,
  at timestamptz not null,
  look jsonb not null,
  constraint experiment_looks_pkey primary key (merchant_id, experiment_id, at)
);
alter table experiment_looks enable row level security;
alter table experiment_looks force row level security;
create policy every_merchant on experiment_looks to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on experiment_looks using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table experiment_looks is 'Interim results of an experiment by day. Each builds on the one before: a value that was ruled out stays ruled out.';

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
  constraint experiment_tallies_pkey primary key (merchant_id, experiment_id, phase, arm, half, measure)
) with (fillfactor=70);
alter table experiment_tallies enable row level security;
alter table experiment_tallies force row level security;
create policy every_merchant on experiment_tallies to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on experiment_tallies using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table experiment_tallies is 'Sums over the customers of a cell, so that results do not read invoices.';

create table experiments (
  merchant_id uuid not null,
  id uuid not null,
  name text not null,
  salt text not null,
  share float8 not null,
  started_at timestamptz not null,
  compared_from timestamptz not null,
  stopped_at timestamptz,
  maturity_days int4 not null,
  primary_measure text not null,
  margin float8 not null,
  look_at timestamptz,
  constraint experiments_pkey primary key (merchant_id, id),
  constraint experiments_check check (compared_from >= started_at),
  constraint experiments_margin_check check ((margin > (0)::float8) and (margin < (1)::float8)),
  constraint experiments_maturity_days_check check ((maturity_days >= 1) and (maturity_days <= 365)),
  constraint experiments_name_check check (name <> ''),
  constraint experiments_primary_measure_check check (primary_measure ~ '^(count|[A-Z]{3})$'),
  constraint experiments_share_check check ((share > (0)::float8) and (share < (1)::float8))
);
create unique index experiments_running on experiments (merchant_id) where stopped_at is null;
alter table experiments enable row level security;
alter table experiments force row level security;
create policy every_merchant on experiments to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on experiments using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table experiments is 'Experiments with a holdout. All but stopped_at and look_at is fixed at the start.';
comment on column experiments.look_at is 'When the next interim analysis is due; null once a stopped experiment is counted.';

create table people (
  id uuid not null,
  email text not null,
  name text not null,
  password text,
  zone text not null default 'UTC',
  theme text not null default 'system',
  created_at timestamptz not null,
  constraint people_pkey primary key (id),
  constraint people_email_check check (email = lower(email)),
  constraint people_email_key unique (email),
  constraint people_name_check check (name <> ''),
  constraint people_theme_check check (theme = any (array['system', 'light', 'dark']))
);
comment on table people is 'People who use the console. The address is stored in lower case.';

create table identities (
  issuer text not null,
  subject text not null,
  person_id uuid not null,
  created_at timestamptz not null,
  constraint identities_pkey primary key (issuer, subject),
  constraint identities_person_id_fkey foreign key (person_id) references people(id),
  constraint identities_person_id_issuer_key unique (person_id, issuer)
);
comment on table identities is 'The subject of a person at an identity provider. An address that the provider gives to someone else does not open the account.';

create table installation (
  id int2 not null,
  key_check bytea not null,
  constraint installation_pkey primary key (id),
  constraint installation_id_check check (id = 1)
);
comment on table installation is 'A fingerprint of the secret key. A process with another key does not start.';

create table invites (
  merchant_id uuid not null,
  id uuid not null,
  hash bytea not null,
  role text not null,
  email text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  revoked_at timestamptz,
  made_by uuid,
  constraint invites_pkey primary key (merchant_id, id),
  constraint invites_email_check check (email = lower(email)),
  constraint invites_hash_check check (octet_length(hash) = 32),
  constraint invites_merchant_id_fkey foreign key (merchant_id) references merchants(id),
  constraint invites_role_check check (role = any (array['owner', 'admin', 'developer', 'viewer']))
);
create index invites_by_email on invites (email) where (used_at is null) and (revoked_at is null);
create index invites_by_hash on invites (hash);
alter table invites enable row level security;
alter table invites force row level security;
create policy every_merchant on invites to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on invites using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table invites is 'Links that make a person a member. Only the SHA-256 of the token is stored. Expires in real time, works once.';

create table invoice_conflicts (
  merchant_id uuid not null,
  invoice_id text collate "C" not null,
  kind text not null,
  facts jsonb not null,
  found_at timestamptz not null,
  constraint invoice_conflicts_pkey primary key (merchant_id, invoice_id),
  constraint invoice_conflicts_kind_check check (kind = any (array['paid_but_unpaid', 'two_currencies', 'paid_too_much']))
);
alter table invoice_conflicts enable row level security;
alter table invoice_conflicts force row level security;
create policy every_merchant on invoice_conflicts to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on invoice_conflicts using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table invoice_conflicts is 'Invoices whose facts contradict each other. No retry goes out until one of the facts changes.';

create table invoices (
  merchant_id uuid not null,
  id text collate "C" not null,
  state text not null,
  customer_id text collate "C" not null,
  subscription_id text collate "C",
  business_entity text,
  amount int8 not null,
  currency text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  was_in_recovery boolean,
  version_at timestamptz,
  amount_due int8,
  unpaid_since timestamptz,
  integration_type text,
  constraint invoices_pkey primary key (merchant_id, id),
  constraint invoices_amount_check check (amount >= 0),
  constraint invoices_amount_due_check check (amount_due >= 0),
  constraint invoices_state_check check (state = any (array['PAID', 'UNPAID', 'DRAFT', 'PARTIALLY_PAID', 'VOIDED', 'UNCOLLECTIBLE', 'REFUNDED']))
) with (fillfactor=90);
alter table invoices alter column merchant_id set (n_distinct=1);
create index invoices_by_customer on invoices (merchant_id, customer_id, created_at);
alter table invoices enable row level security;
alter table invoices force row level security;
create policy every_merchant on invoices to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on invoices using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table invoices is 'The current version of each invoice.';
comment on column invoices.was_in_recovery is 'Whether a replaced version was in recovery. Only then can the invoice have cases.';
comment on column invoices.version_at is 'The newest updatedAt that the sender gave, if it differs from updated_at. -infinity: the sender never gave one, so the later arrival wins.';
comment on column invoices.amount_due is 'The amount left to pay by this version; null if the version does not say.';
comment on column invoices.unpaid_since is 'Date of the first unpaid version since the invoice was out of recovery; null while it is out. The window starts here.';
comment on column invoices.integration_type is 'Of the key that pushed this version.';

create table jobs (
  merchant_id uuid not null,
  id uuid not null,
  kind text not null,
  asked_at timestamptz not null,
  person_id uuid,
  actor text not null,
  address text,
  input jsonb not null,
  progress jsonb not null default '{}'::jsonb,
  result jsonb,
  failure text,
  ended_at timestamptz,
  due_at timestamptz,
  holder uuid,
  constraint jobs_pkey primary key (merchant_id, id),
  constraint jobs_check check ((ended_at is null) = (due_at is not null)),
  constraint jobs_check1 check ((ended_at is not null) or ((result is null) and (failure is null))),
  constraint jobs_check2 check ((result is null) or (failure is null)),
  constraint jobs_kind_check check (kind = any (array['replay', 'backtest', 'shadow']))
);
create unique index jobs_open on jobs (merchant_id, kind) where due_at is not null;
alter table jobs enable row level security;
alter table jobs force row level security;
create policy every_merchant on jobs to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on jobs using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table jobs is 'Work that a page starts and that takes longer than the page.';
comment on column jobs.due_at is 'Real time, and a lease: the holder moves it ahead while working. Null once the job has ended.';

create table large_amounts (
  merchant_id uuid not null,
  currency text not null,
  amount int8 not null,
  constraint large_amounts_pkey primary key (merchant_id, currency),
  constraint large_amounts_amount_check check (amount > 0),
  constraint large_amounts_currency_check check (currency ~ '^[A-Z]{3}$'),
  constraint large_amounts_merchant_id_fkey foreign key (merchant_id) references merchants(id)
);
alter table large_amounts alter column merchant_id set (n_distinct=1);
alter table large_amounts enable row level security;
alter table large_amounts force row level security;
create policy every_merchant on large_amounts to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on large_amounts using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table large_amounts is 'From which amount an invoice counts as large, in minor units. A currency without a row has no large invoices.';

create table learned_merchants (
  merchant_id uuid not null,
  noted_at timestamptz not null,
  lesson_id uuid not null,
  lessons int8 not null,
  version int8 not null,
  numbers bytea not null,
  constraint learned_merchants_pkey primary key (merchant_id),
  constraint learned_merchants_lessons_check check (lessons >= 0)
);
alter table learned_merchants enable row level security;
alter table learned_merchants force row level security;
create policy every_merchant on learned_merchants to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on learned_merchants using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table learned_merchants is 'How far the outcomes of a merchant have trained the model, and its own parameters. The cursor moves in the transaction of the training.';
comment on column learned_merchants.lesson_id is 'The last action or observed retry that was used.';
comment on column learned_merchants.lessons is 'Number of outcomes used.';
comment on column learned_merchants.numbers is 'Parameters of the merchant, little-endian float8.';

create table learned_models (
  merchant_id uuid not null,
  layout text not null,
  version int8 not null,
  changed_at timestamptz not null,
  constraint learned_models_pkey primary key (merchant_id)
);
alter table learned_models enable row level security;
alter table learned_models force row level security;
create policy every_merchant on learned_models to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on learned_models using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table learned_models is 'Models. The id of zeros is the model of all merchants that share; every other is the own model of a merchant. A writer names the version it read.';

create table learned_parts (
  merchant_id uuid not null,
  name text not null,
  version int8 not null,
  numbers bytea not null,
  constraint learned_parts_pkey primary key (merchant_id, name)
);
alter table learned_parts enable row level security;
alter table learned_parts force row level security;
create policy every_merchant on learned_parts to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on learned_parts using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table learned_parts is 'The numbers of a model in parts, little-endian float8. Only changed parts are written.';

create table learner_lease (
  id int2 not null,
  owner uuid,
  expires_at timestamptz,
  constraint learner_lease_pkey primary key (id),
  constraint learner_lease_id_check check (id = 1)
);
comment on table learner_lease is 'The process that trains. Real time.';

create table listed_actions (
  merchant_id uuid not null,
  facets text collate "C" not null,
  created_at timestamptz not null,
  id uuid not null,
  updated_at timestamptz not null,
  executed_at timestamptz,
  executed_on date generated always as (((executed_at at time zone 'UTC'))::date) stored,
  amount_due int8,
  constraint listed_actions_pkey primary key (merchant_id, facets, created_at, id)
);
alter table listed_actions alter column merchant_id set (n_distinct=1);
create index listed_actions_day_created on listed_actions (merchant_id, executed_on, created_at, id) include (facets, executed_at) where executed_at is not null;
create index listed_actions_day_updated on listed_actions (merchant_id, executed_on, updated_at, id) include (facets, executed_at) where executed_at is not null;
create index listed_actions_executed on listed_actions (merchant_id, executed_at, id) include (facets, created_at, updated_at) where executed_at is not null;
create index listed_actions_facets_executed on listed_actions (merchant_id, facets, executed_at, id) include (created_at, updated_at) where executed_at is not null;
create index listed_actions_facets_updated on listed_actions (merchant_id, facets, updated_at, id);
create index listed_actions_updated on listed_actions (merchant_id, updated_at, id);
alter table listed_actions enable row level security;
alter table listed_actions force row level security;
create policy every_merchant on listed_actions to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on listed_actions using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table listed_actions is 'What lists of recovery actions are ordered, filtered and summed by. The statement that writes an action writes it. Each write updates every index.';
comment on column listed_actions.facets is 'Country, currency, type and status in seven letters: what lists filter by.';
comment on column listed_actions.executed_on is 'The day in UTC. A column, because row-level security does not use an index on an expression.';

create table members (
  merchant_id uuid not null,
  person_id uuid not null,
  role text not null,
  created_at timestamptz not null,
  constraint members_pkey primary key (merchant_id, person_id),
  constraint members_merchant_id_fkey foreign key (merchant_id) references merchants(id),
  constraint members_person_id_fkey foreign key (person_id) references people(id),
  constraint members_role_check check (role = any (array['owner', 'admin', 'developer', 'viewer']))
);
create index members_by_person on members (person_id);
alter table members enable row level security;
alter table members force row level security;
create policy every_merchant on members to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on members using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table members is 'The role of a person at a merchant.';

create table member_notices (
  merchant_id uuid not null,
  person_id uuid not null,
  digest text not null default 'off',
  digest_weekday int2 not null default 1,
  digest_hour int2 not null default 8,
  digest_due_at timestamptz,
  digest_sent_at timestamptz,
  alerts text[] not null default '{}'::text[],
  constraint member_notices_pkey primary key (merchant_id, person_id),
  constraint member_notices_check check ((digest = 'off') = (digest_due_at is null)),
  constraint member_notices_digest_check check (digest = any (array['off', 'daily', 'weekly'])),
  constraint member_notices_digest_hour_check check ((digest_hour >= 0) and (digest_hour <= 23)),
  constraint member_notices_digest_weekday_check check ((digest_weekday >= 1) and (digest_weekday <= 7)),
  constraint member_notices_member_fkey foreign key (merchant_id, person_id) references members(merchant_id, person_id) on delete cascade
);
alter table member_notices alter column merchant_id set (n_distinct=1);
create index member_notices_due on member_notices (digest_due_at) where digest_due_at is not null;
alter table member_notices enable row level security;
alter table member_notices force row level security;
create policy every_merchant on member_notices to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on member_notices using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table member_notices is 'The mails that a person wants about a merchant. A member without a row wants none.';
comment on column member_notices.digest_weekday is '1 is Monday. Weekday and hour are in the time zone of the person.';
comment on column member_notices.digest_due_at is 'When the next digest is written, in service time; null: never.';
comment on column member_notices.digest_sent_at is 'When the last digest was written.';

create table merchant_clocks (
  merchant_id uuid not null,
  last_at timestamptz not null,
  lists int2 not null,
  constraint merchant_clocks_pkey primary key (merchant_id)
);
alter table merchant_clocks enable row level security;
alter table merchant_clocks force row level security;
create policy every_merchant on merchant_clocks to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on merchant_clocks using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table merchant_clocks is 'The last time given to a listed row of the merchant. Writers lock the row until they commit, so times are in commit order.';
comment on column merchant_clocks.lists is 'Without a default, so that no process writes actions without listed_actions.';

create table notice_checks (
  merchant_id uuid not null,
  due_at timestamptz not null,
  constraint notice_checks_pkey primary key (merchant_id),
  constraint notice_checks_merchant_id_fkey foreign key (merchant_id) references merchants(id)
);
alter table notice_checks alter column merchant_id set (n_distinct=1);
create index notice_checks_due on notice_checks (due_at);
alter table notice_checks enable row level security;
alter table notice_checks force row level security;
create policy every_merchant on notice_checks to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on notice_checks using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table notice_checks is 'When the notifier looks at a merchant again, in service time. The row is the lock of the merchant''s incidents. Only merchants with a reader have one.';

create table notice_incidents (
  merchant_id uuid not null,
  kind text not null,
  since timestamptz,
  announced_at timestamptz,
  read_to timestamptz,
  constraint notice_incidents_pkey primary key (merchant_id, kind),
  constraint notice_incidents_merchant_id_fkey foreign key (merchant_id) references merchants(id)
);
alter table notice_incidents alter column merchant_id set (n_distinct=1);
alter table notice_incidents enable row level security;
alter table notice_incidents force row level security;
create policy every_merchant on notice_incidents to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on notice_incidents using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table notice_incidents is 'The state of each kind of alert, so that each incident is announced once.';
comment on column notice_incidents.since is 'When the present incident was first seen; null: none is open.';
comment on column notice_incidents.announced_at is 'When it was announced; null: not yet. Of a kind without an end, the last alert.';
comment on column notice_incidents.read_to is 'Until when records were searched for incidents.';

create table notices (
  merchant_id uuid not null,
  id uuid not null,
  person_id uuid,
  subject text not null,
  body text not null,
  created_at timestamptz not null,
  due_at timestamptz not null,
  attempts int4 not null default 0,
  constraint notices_pkey primary key (merchant_id, id),
  constraint notices_member_fkey foreign key (merchant_id, person_id) references members(merchant_id, person_id) on delete cascade,
  constraint notices_merchant_id_fkey foreign key (merchant_id) references merchants(id)
);
alter table notices alter column merchant_id set (n_distinct=1);
create index notices_due on notices (due_at);
alter table notices enable row level security;
alter table notices force row level security;
create policy every_merchant on notices to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on notices using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table notices is 'Mails and chat messages that are still to be sent. The row is deleted when the notice was sent or given up.';
comment on column notices.person_id is 'Gets a mail; null: the chat.';
comment on column notices.due_at is 'Real time, and a lease: a sender moves it ahead before it sends.';

create table processes (
  id uuid not null,
  host text not null,
  pid int4 not null,
  version text not null,
  roles text[] not null,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  troubles jsonb not null default '[]'::jsonb,
  constraint processes_pkey primary key (id)
);
comment on table processes is 'Heartbeats of the running processes. Real time.';
comment on column processes.troubles is 'The latest warnings in the log of the process.';

create table provider_visits (
  hash bytea not null,
  started_at timestamptz not null,
  constraint provider_visits_pkey primary key (hash),
  constraint provider_visits_hash_check check (octet_length(hash) = 32)
);
create index provider_visits_by_start on provider_visits (started_at);
comment on table provider_visits is 'Sign-ins that are under way at the identity provider. Real time.';

create unlogged table rate_buckets (
  merchant_id uuid not null,
  key_id uuid not null,
  per_second int8 not null,
  burst int8 not null,
  left_over float8 not null,
  asked int8 not null,
  granted int8 not null,
  at timestamptz not null,
  constraint rate_buckets_pkey primary key (merchant_id, key_id)
) with (fillfactor=50);
alter table rate_buckets enable row level security;
alter table rate_buckets force row level security;
create policy every_merchant on rate_buckets to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on rate_buckets using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table rate_buckets is 'What is left of the rate limit of a key. Unlogged: after a crash every bucket is full.';

create table recovery_actions (
  merchant_id uuid not null,
  id uuid not null,
  case_id uuid not null,
  invoice_id text collate "C" not null,
  subscription_id text collate "C",
  customer_id text collate "C" not null,
  transaction_id text collate "C",
  payment_method_type text,
  card_country text,
  currency text not null,
  type text not null,
  status text not null,
  integration_type text not null default 'CUSTOM',
  action_suggestion text not null,
  ideal_retry_time timestamptz not null,
  reasons jsonb not null,
  decided_at timestamptz,
  executed_at timestamptz,
  attempted_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  facets text collate "C" not null generated always as ((((coalesce(card_country, '--') || currency) || case type when 'RETRY' then 'R' when 'CARD_CHANGE' then 'C' else null::text end) || case status when 'SCHEDULED' then 'P' when 'SENT' then 'T' when 'SUCCEEDED' then 'S' when 'FAILED' then 'F' when 'EXPIRED' then 'E' when 'CANCELED' then 'C' when 'DELIVERY_FAILED' then 'D' else null::text end)) stored,
  executed_on date generated always as (((executed_at at time zone 'UTC'))::date) stored,
  amount_due int8,
  constraint recovery_actions_pkey primary key (merchant_id, id),
  constraint recovery_actions_action_suggestion_check check (action_suggestion = any (array['UNSPECIFIED', 'RETRY', 'CARD_CHANGE'])),
  constraint recovery_actions_amount_due_check check (amount_due >= 0),
  constraint recovery_actions_check check ((executed_at is not null) = (status = any (array['SUCCEEDED', 'FAILED']))),
  constraint recovery_actions_check1 check ((decided_at is not null) or (status = any (array['SCHEDULED', 'CANCELED']))),
  constraint recovery_actions_check2 check ((type = 'RETRY') or (status <> 'FAILED')),
  constraint recovery_actions_facets_check check (length(facets) = 7),
  constraint recovery_actions_integration_type_check check (integration_type = any (array['CUSTOM', 'STRIPE', 'CHARGEBEE', 'RECURLY', 'RECHARGE', 'ZUORA'])),
  constraint recovery_actions_merchant_id_case_id_fkey foreign key (merchant_id, case_id) references cases(merchant_id, id),
  constraint recovery_actions_moments check ((executed_at is null) or ((created_at <= executed_at) and (executed_at <= updated_at))),
  constraint recovery_actions_status_check check (status = any (array['SCHEDULED', 'SENT', 'SUCCEEDED', 'FAILED', 'EXPIRED', 'CANCELED', 'DELIVERY_FAILED'])),
  constraint recovery_actions_type_check check (type = any (array['RETRY', 'CARD_CHANGE']))
) with (fillfactor=85);
alter table recovery_actions alter column merchant_id set (n_distinct=1);
create index recovery_actions_by_case on recovery_actions (merchant_id, case_id);
create index recovery_actions_by_customer on recovery_actions (merchant_id, customer_id, created_at);
create index recovery_actions_by_subscription on recovery_actions (merchant_id, subscription_id, created_at) where subscription_id is not null;
create index recovery_actions_created on recovery_actions (merchant_id, created_at, id);
alter table recovery_actions enable row level security;
alter table recovery_actions force row level security;
create policy every_merchant on recovery_actions to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on recovery_actions using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table recovery_actions is 'An update of an action changes no column of an index, so that it writes none.';
comment on column recovery_actions.facets is 'Country, currency, type and status in seven letters: what lists filter by.';
comment on column recovery_actions.executed_on is 'The day in UTC. A column, because row-level security does not use an index on an expression.';
comment on column recovery_actions.amount_due is 'Amount due when the action was planned; null for older actions.';

create table recovery_rules (
  merchant_id uuid not null,
  id uuid not null,
  position int4 not null,
  name text not null,
  conditions jsonb not null,
  leave_out boolean not null,
  window_days int4,
  budget int4,
  lead_ms int4,
  quiet jsonb,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint recovery_rules_pkey primary key (merchant_id, id),
  constraint recovery_rules_position_key unique (merchant_id, "position")
);
alter table recovery_rules alter column merchant_id set (n_distinct=1);
alter table recovery_rules enable row level security;
alter table recovery_rules force row level security;
create policy every_merchant on recovery_rules to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on recovery_rules using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table recovery_rules is 'The recovery rules of a merchant, in order: the first one that fits an invoice decides.';
comment on column recovery_rules.conditions is 'The conditions that are given; all must hold.';
comment on column recovery_rules.leave_out is 'Whether Dunlin never acts on such an invoice.';
comment on column recovery_rules.window_days is 'Null, as in the other outcomes: the setting of the merchant holds.';
comment on column recovery_rules.quiet is 'Weekdays, dates and hours without retries, on the customer''s clock.';

create table recovery_sums (
  merchant_id uuid not null,
  dimension text collate "C" not null,
  since timestamptz not null,
  value text collate "C" not null,
  currency text collate "C" not null,
  n int8 not null,
  recovered int8 not null,
  amount int8 not null,
  recovered_amount int8 not null,
  constraint recovery_sums_pkey primary key (merchant_id, dimension, since, value, currency)
) with (fillfactor=70);
alter table recovery_sums alter column merchant_id set (n_distinct=1);
alter table recovery_sums enable row level security;
alter table recovery_sums force row level security;
create policy every_merchant on recovery_sums to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on recovery_sums using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table recovery_sums is 'Counts and amounts of ended cases that Dunlin handled. The statement that changes a case''s columns changes them.';
comment on column recovery_sums.since is 'The UTC day of the first failure; for the dimension "ended" the UTC hour of the end.';
comment on column recovery_sums.n is 'Cases; for the dimensions "attempt" and "hour" executed retries.';

create table reporting_rates (
  merchant_id uuid not null,
  currency text not null,
  rate numeric not null,
  set_at timestamptz not null,
  constraint reporting_rates_pkey primary key (merchant_id, currency),
  constraint reporting_rates_currency_check check (currency ~ '^[A-Z]{3}$'),
  constraint reporting_rates_rate_check check ((rate > (0)::numeric) and (rate < '1000000000'::numeric))
);
alter table reporting_rates alter column merchant_id set (n_distinct=1);
alter table reporting_rates enable row level security;
alter table reporting_rates force row level security;
create policy every_merchant on reporting_rates to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on reporting_rates using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table reporting_rates is 'How many units of the reporting currency one unit of a currency is.';

create table request_heads (
  merchant_id uuid not null,
  id int8 not null,
  head text not null,
  constraint request_heads_pkey primary key (merchant_id, id)
);
alter table request_heads enable row level security;
alter table request_heads force row level security;
create policy every_merchant on request_heads to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on request_heads using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table request_heads is 'Request line and headers of deliveries, with secrets masked.';

create table request_log (
  merchant_id uuid not null,
  id uuid not null,
  at timestamptz not null,
  caller_request_id text,
  key_id uuid,
  method text,
  route text not null,
  status int2 not null,
  duration_us int4 not null,
  records int4,
  error text,
  stored int4,
  older int4,
  constraint request_log_pkey primary key (merchant_id, id),
  constraint request_log_duration_us_check check (duration_us >= 0)
) partition by range (id);
create index request_log_older on only public.request_log (merchant_id, id) where older > 0;
create index request_log_refused on only public.request_log (merchant_id, id) where status >= 400;
create index request_log_stored on only public.request_log (merchant_id, id) where stored is not null;
alter table request_log enable row level security;
alter table request_log force row level security;
create policy every_merchant on request_log to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on request_log using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table request_log is 'One row per inbound request, without bodies, keys and paths. Request ids begin with their time, so a partition holds one day.';
comment on column request_log.stored is 'Records that were new or newer than the stored version.';
comment on column request_log.older is 'Records that were older than the stored version.';

create table saved_views (
  merchant_id uuid not null,
  person_id uuid not null,
  path text collate "C" not null,
  name text collate "C" not null,
  query text not null,
  created_at timestamptz not null,
  constraint saved_views_pkey primary key (merchant_id, person_id, path, name),
  constraint saved_views_merchant_id_person_id_fkey foreign key (merchant_id, person_id) references members(merchant_id, person_id) on delete cascade
);
alter table saved_views alter column merchant_id set (n_distinct=1);
alter table saved_views enable row level security;
alter table saved_views force row level security;
create policy every_merchant on saved_views to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on saved_views using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table saved_views is 'Filters and order of a list page, which a member saved under a name.';
comment on column saved_views.query is 'As in the page''s address, without the position in the list.';

create table sessions (
  hash bytea not null,
  person_id uuid not null,
  merchant_id uuid,
  created_at timestamptz not null,
  seen_at timestamptz not null,
  constraint sessions_pkey primary key (hash),
  constraint sessions_hash_check check (octet_length(hash) = 32),
  constraint sessions_person_id_fkey foreign key (person_id) references people(id)
);
create index sessions_by_person on sessions (person_id);
alter table sessions enable row level security;
alter table sessions force row level security;
create policy every_merchant on sessions to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on sessions using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table sessions is 'Console sessions. Only the SHA-256 of the token is stored. Real time.';

create table sign_in_counts (
  subject text not null,
  tries int4 not null,
  since timestamptz not null,
  constraint sign_in_counts_pkey primary key (subject)
);
comment on table sign_in_counts is 'Recent attempts to sign in, counted before the password is checked. Real time.';

create table subscriptions (
  merchant_id uuid not null,
  id text collate "C" not null,
  state text not null,
  customer_id text collate "C" not null,
  business_entity text,
  plan_id text collate "C",
  amount int8 not null,
  currency text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  activated_at timestamptz,
  canceled_at timestamptz,
  expires_at timestamptz,
  billing_period int4,
  billing_period_unit text,
  version_at timestamptz,
  constraint subscriptions_pkey primary key (merchant_id, id),
  constraint subscriptions_amount_check check (amount >= 0),
  constraint subscriptions_billing_period_unit_check check (billing_period_unit = any (array['DAY', 'WEEK', 'MONTH', 'YEAR'])),
  constraint subscriptions_state_check check (state = any (array['ACTIVE', 'CANCELED', 'TRIALING', 'PENDING', 'PAST_DUE', 'PAUSED', 'EXPIRED']))
) with (fillfactor=90);
alter table subscriptions alter column merchant_id set (n_distinct=1);
alter table subscriptions enable row level security;
alter table subscriptions force row level security;
create policy every_merchant on subscriptions to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on subscriptions using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table subscriptions is 'The current version of each subscription.';

create table transactions (
  merchant_id uuid not null,
  id text collate "C" not null,
  state text not null,
  invoice_id text collate "C" not null,
  amount int8 not null,
  currency text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  customer_id text collate "C",
  subscription_id text collate "C",
  business_entity text,
  recovery_action_id text collate "C",
  payment_method_type text,
  payment_method_id text collate "C",
  payment_gateway_id text collate "C",
  payment_gateway_name text,
  payment_gateway_type text,
  payment_gateway_status text,
  payment_gateway_transaction_id text collate "C",
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
  card_funding text,
  card_expiry_month int4,
  card_expiry_year int4,
  customer_timezone text,
  initiator text,
  attempt_number int4,
  network_token boolean,
  version_at timestamptz,
  constraint transactions_pkey primary key (merchant_id, id),
  constraint transactions_amount_check check (amount >= 0),
  constraint transactions_card_funding_check check (card_funding = any (array['CREDIT', 'DEBIT', 'PREPAID', 'CHARGE'])),
  constraint transactions_initiator_check check (initiator = any (array['BILLING_SYSTEM', 'RECOVERY_ACTION', 'CUSTOMER', 'MERCHANT_MANUAL'])),
  constraint transactions_state_check check (state = any (array['PAID', 'FAILED', 'PENDING', 'VOIDED', 'REFUNDED', 'DISPUTED']))
) with (fillfactor=90);
alter table transactions alter column merchant_id set (n_distinct=1);
create index transactions_by_customer on transactions (merchant_id, customer_id, created_at) where customer_id is not null;
create index transactions_by_fingerprint on transactions (merchant_id, card_fingerprint, created_at) where card_fingerprint is not null;
create index transactions_by_invoice on transactions (merchant_id, invoice_id, created_at);
create index transactions_by_issuer on transactions (merchant_id, card_issuer, created_at) where card_issuer is not null;
create index transactions_by_payment_method on transactions (merchant_id, payment_method_id, created_at) where payment_method_id is not null;
create index transactions_declined_on_card on transactions (merchant_id, card_fingerprint, created_at) where (card_fingerprint is not null) and (state = 'FAILED');
create index transactions_disputed_by_customer on transactions (merchant_id, customer_id) where state = 'DISPUTED';
create index transactions_disputed_on_card on transactions (merchant_id, card_fingerprint) where state = 'DISPUTED';
create index transactions_disputed_on_invoice on transactions (merchant_id, invoice_id) where state = 'DISPUTED';
create index transactions_ended_by_moment on transactions (merchant_id, created_at, id) where state <> 'PENDING';
alter table transactions enable row level security;
alter table transactions force row level security;
create policy every_merchant on transactions to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on transactions using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table transactions is 'The current version of each attempt to charge an invoice, made by anyone.';

create table watched_retries (
  merchant_id uuid not null,
  transaction_id text collate "C" not null,
  id uuid not null,
  case_id uuid not null,
  noted_at timestamptz not null,
  constraint watched_retries_pkey primary key (merchant_id, transaction_id)
);
alter table watched_retries alter column merchant_id set (n_distinct=1);
create unique index watched_retries_noted on watched_retries (merchant_id, noted_at, id);
alter table watched_retries enable row level security;
alter table watched_retries force row level security;
create policy every_merchant on watched_retries to current_user, dunlin_worker using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on watched_retries using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
comment on table watched_retries is 'Ended retries of the merchant''s own system on cases that Dunlin only observes. The learner uses them in one order with executed actions.';

create table decisions_default partition of decisions default;
alter table decisions_default enable row level security;
alter table decisions_default force row level security;
create policy every_merchant on decisions_default to current_user using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on decisions_default using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));

create table delivery_attempts_default partition of delivery_attempts default;
alter table delivery_attempts_default enable row level security;
alter table delivery_attempts_default force row level security;
create policy every_merchant on delivery_attempts_default to current_user using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on delivery_attempts_default using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));

create table request_log_default partition of request_log default;
alter table request_log_default enable row level security;
alter table request_log_default force row level security;
create policy every_merchant on request_log_default to current_user using (( case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0));
create policy wall on request_log_default using ((merchant_id = (nullif(current_setting('dunlin.merchant', true), ''))::uuid));
