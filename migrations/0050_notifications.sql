-- Which open matters need a person, and the notices about them by mail and chat.

create table large_amounts (
  merchant_id uuid not null,
  currency text not null,
  amount int8 not null,
  constraint large_amounts_merchant_id_fkey foreign key (merchant_id) references merchants(id),
  constraint large_amounts_pkey primary key (merchant_id, currency),
  constraint large_amounts_amount_check check (amount > 0),
  constraint large_amounts_currency_check check (currency ~ '^[A-Z]{3}$')
);
comment on table large_amounts is 'From which amount an invoice counts as large, in minor units. A currency without a row has no large invoices.';

create table member_notices (
  merchant_id uuid not null,
  person_id uuid not null,
  digest text not null default 'off',
  digest_weekday int2 not null default 1,
  digest_hour int2 not null default 8,
  digest_due_at timestamptz,
  digest_sent_at timestamptz,
  alerts text[] not null default '{}',
  constraint member_notices_pkey primary key (merchant_id, person_id),
  constraint member_notices_check check ((digest = 'off') = (digest_due_at is null)),
  constraint member_notices_digest_check check (digest = any (array['off', 'daily', 'weekly'])),
  constraint member_notices_digest_hour_check check ((digest_hour >= 0) and (digest_hour <= 23)),
  constraint member_notices_digest_weekday_check check ((digest_weekday >= 1) and (digest_weekday <= 7)),
  constraint member_notices_member_fkey foreign key (merchant_id, person_id) references members(merchant_id, person_id) on delete cascade
);
create index member_notices_due on member_notices (digest_due_at) where digest_due_at is not null;
comment on table member_notices is 'The mails that a person wants about a merchant. A member without a row wants none.';
comment on column member_notices.digest_weekday is '1 is Monday. Weekday and hour are in the time zone of the person.';
comment on column member_notices.digest_due_at is 'When the next digest is written, in service time; null: never.';
comment on column member_notices.digest_sent_at is 'When the last digest was written.';

create table chat_webhooks (
  merchant_id uuid not null,
  url bytea not null,
  shown text not null,
  alerts text[] not null,
  created_at timestamptz not null,
  answered_at timestamptz,
  answer text,
  delivered boolean,
  constraint chat_webhooks_merchant_id_fkey foreign key (merchant_id) references merchants(id),
  constraint chat_webhooks_pkey primary key (merchant_id),
  constraint chat_webhooks_answer_check check ((answered_at is null) = (answer is null) and (answer is null) = (delivered is null))
);
comment on table chat_webhooks is 'The chat that gets the alerts of a merchant.';
comment on column chat_webhooks.url is 'Encrypted like the webhook credential, because whoever has it can post.';
comment on column chat_webhooks.shown is 'The URL without its secret part.';
comment on column chat_webhooks.answer is 'How the chat answered last, such as "200".';

create table notice_checks (
  merchant_id uuid not null,
  due_at timestamptz not null,
  constraint notice_checks_merchant_id_fkey foreign key (merchant_id) references merchants(id),
  constraint notice_checks_pkey primary key (merchant_id)
);
create index notice_checks_due on notice_checks (due_at);
comment on table notice_checks is 'When the notifier looks at a merchant again, in service time. The row is the lock of the merchant''s incidents. Only merchants with a reader have one.';

create table notice_incidents (
  merchant_id uuid not null,
  kind text not null,
  since timestamptz,
  announced_at timestamptz,
  read_to timestamptz,
  constraint notice_incidents_merchant_id_fkey foreign key (merchant_id) references merchants(id),
  constraint notice_incidents_pkey primary key (merchant_id, kind)
);
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
  constraint notices_merchant_id_fkey foreign key (merchant_id) references merchants(id),
  constraint notices_pkey primary key (merchant_id, id),
  constraint notices_member_fkey foreign key (merchant_id, person_id) references members(merchant_id, person_id) on delete cascade
);
create index notices_due on notices (due_at);
comment on table notices is 'Mails and chat messages that are still to be sent. The row is deleted when the notice was sent or given up.';
comment on column notices.person_id is 'Gets a mail; null: the chat.';
comment on column notices.due_at is 'Real time, and a lease: a sender moves it ahead before it sends.';

create index cases_open_by_window on cases (merchant_id, window_ends_at) include (currency, amount) where outcome = 'open';
create index recovery_actions_card_changes on recovery_actions (merchant_id, decided_at, case_id) where type = 'CARD_CHANGE' and status = 'SENT';
create index request_log_stored on request_log (merchant_id, id) where stored is not null;
create index connector_hints_failing on connector_hints (merchant_id, connection) where problem is not null;
create index connector_events_failing on connector_events (merchant_id, connection) where problem is not null;
create index connector_messages_failing on connector_messages (merchant_id, connection) where problem is not null;

do $$
declare
  name text;
begin
  foreach name in array array[
    'large_amounts', 'member_notices', 'chat_webhooks', 'notice_checks', 'notice_incidents', 'notices']
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
