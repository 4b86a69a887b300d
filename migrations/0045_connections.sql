-- Connections to billing systems, and what their connectors keep. A connector reads and writes no other table.

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
  constraint connections_pkey primary key (merchant_id, name),
  constraint connections_name_check check (name = any (array['stripe']))
);
comment on table connections is 'One row per billing account that a connector serves.';
comment on column connections.name is 'The billing system. A merchant connects one account of each.';
comment on column connections.is_live is 'Whether the account takes real money; test and live mode are never mixed.';
comment on column connections.secrets is 'Keys and tokens of both sides as JSON, encrypted like the webhook credential.';
comment on column connections.settings is 'The merchant''s choices, such as the end of dunning and messages.';
comment on column connections.local_port is 'On which the connector listens on this machine for Dunlin''s webhooks; null: it has a public address.';
comment on column connections.paused_at is 'While set, the connector charges nothing and writes to no customer; facts are still read.';
comment on column connections.seen_at is 'When the connector last reported.';

create table connector_hints (
  merchant_id uuid not null,
  connection text not null,
  object_id text not null,
  generation int8 not null default 1,
  noted_at timestamptz not null,
  due_at timestamptz not null,
  tries int4 not null default 0,
  problem text,
  constraint connector_hints_pkey primary key (merchant_id, connection, object_id)
);
create index connector_hints_due on connector_hints (merchant_id, connection, due_at);
comment on table connector_hints is 'Objects of the provider that changed and have to be read again. A row ends when that is done.';
comment on column connector_hints.generation is 'Rises with each new hint, so that one that comes during a read is not lost.';
comment on column connector_hints.problem is 'Why the last try failed; null: not tried, or not failed.';

create table connector_cursors (
  merchant_id uuid not null,
  connection text not null,
  name text not null,
  value text not null,
  constraint connector_cursors_pkey primary key (merchant_id, connection, name)
);
comment on table connector_cursors is 'How far a connector has read, when it last heard from both sides, and the count of its reads.';

create table connector_versions (
  merchant_id uuid not null,
  connection text not null,
  object_id text not null,
  version_at timestamptz not null,
  digest text not null,
  read_no int8 not null,
  constraint connector_versions_pkey primary key (merchant_id, connection, object_id)
);
comment on table connector_versions is 'The versions of pushed records, because providers date changes by the second or not at all.';
comment on column connector_versions.version_at is 'Pushed as updatedAt; strictly later for each change.';
comment on column connector_versions.digest is 'Of the pushed record; the same record has the same version.';
comment on column connector_versions.read_no is 'The read that saw it. An earlier read changes nothing any more.';

create table connector_payments (
  merchant_id uuid not null,
  connection text not null,
  payment_id text not null,
  invoice_id text not null,
  customer_id text,
  subscription_id text,
  constraint connector_payments_pkey primary key (merchant_id, connection, payment_id)
);
create index connector_payments_of_invoice on connector_payments (merchant_id, connection, invoice_id);
comment on table connector_payments is 'The invoices of payments while history is read: attempts are listed without their invoice.';

create table connector_events (
  merchant_id uuid not null,
  connection text not null,
  id text not null,
  invoice_id text,
  event jsonb not null,
  kept_at timestamptz not null,
  due_at timestamptz,
  tries int4 not null default 0,
  problem text,
  constraint connector_events_pkey primary key (merchant_id, connection, id)
);
create index connector_events_of_invoice on connector_events (merchant_id, connection, invoice_id);
create index connector_events_due on connector_events (merchant_id, connection, due_at) where due_at is not null;
comment on table connector_events is 'Dunlin''s webhooks as a connector received them.';
comment on column connector_events.due_at is 'When it is handled, or tried again; null: done or given up.';

create table connector_invoices (
  merchant_id uuid not null,
  connection text not null,
  invoice_id text not null,
  customer_id text,
  since timestamptz not null,
  ended_at timestamptz,
  released_at timestamptz,
  checked_at timestamptz,
  constraint connector_invoices_pkey primary key (merchant_id, connection, invoice_id)
);
create index connector_invoices_of_customer on connector_invoices (merchant_id, connection, customer_id) where ended_at is null;
create index connector_invoices_unreleased on connector_invoices (merchant_id, connection, ended_at)
  where ended_at is not null and released_at is null;
comment on table connector_invoices is 'Invoices whose retries by the provider are off, because Dunlin handles them.';
comment on column connector_invoices.customer_id is 'Null: not read yet; erased: the customer was erased, and the row goes when the invoice is given back.';
comment on column connector_invoices.ended_at is 'Of the event that says that Dunlin no longer handles it.';
comment on column connector_invoices.checked_at is 'When Dunlin was last asked whether it still handles it, in case the event of its end was lost.';
comment on column connector_invoices.released_at is 'When the provider''s side was left as the merchant chose.';

create table connector_actions (
  merchant_id uuid not null,
  connection text not null,
  id text not null,
  invoice_id text not null,
  suggestion text not null,
  due_at timestamptz not null,
  state text not null,
  charge_id text,
  problem text,
  begun_at timestamptz,
  ended_at timestamptz,
  tries int4 not null default 0,
  constraint connector_actions_pkey primary key (merchant_id, connection, id),
  constraint connector_actions_state_check
    check (state = any (array['planned', 'charging', 'charged', 'declined', 'skipped', 'asked']))
);
create index connector_actions_due on connector_actions (merchant_id, connection, due_at) where ended_at is null;
create index connector_actions_of_invoice on connector_actions (merchant_id, connection, invoice_id);
create index connector_actions_of_charge on connector_actions (merchant_id, connection, charge_id) where charge_id is not null;
comment on table connector_actions is 'Recovery actions and the charges that they led to. An action is charged once, whatever dies.';
comment on column connector_actions.begun_at is 'When a charge may have been made for the first time.';

create table connector_messages (
  merchant_id uuid not null,
  connection text not null,
  id text not null,
  invoice_id text not null,
  customer_id text not null,
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
create index connector_messages_due on connector_messages (merchant_id, connection, due_at) where ended_at is null;
create index connector_messages_of_invoice on connector_messages (merchant_id, connection, invoice_id);
comment on table connector_messages is 'Mails to customers, without names and addresses: those are read from the provider when a mail is sent.';
comment on column connector_messages.number is 'Of the invoice: 1 is the first mail, the others are reminders.';

create table connector_opt_outs (
  merchant_id uuid not null,
  connection text not null,
  customer text not null,
  at timestamptz not null,
  constraint connector_opt_outs_pkey primary key (merchant_id, connection, customer)
);
comment on table connector_opt_outs is 'Customers that want no mails. Kept for good.';
comment on column connector_opt_outs.customer is 'SHA-256 of the provider''s id, so that it can be kept after the customer was erased.';

do $$
declare
  name text;
begin
  foreach name in array array[
    'connections', 'connector_hints', 'connector_cursors', 'connector_versions', 'connector_payments', 'connector_events',
    'connector_invoices', 'connector_actions', 'connector_messages', 'connector_opt_outs']
  loop
    execute format('alter table %I alter column merchant_id set (n_distinct = 1)', name);
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy wall on %I using (
         merchant_id = (select nullif(current_setting(''dunlin.merchant'', true), '''')::uuid)
         or (select current_setting(''dunlin.every_merchant'', true) = ''on'' and current_user <> ''dunlin_api''))', name);
  end loop;
end $$;
