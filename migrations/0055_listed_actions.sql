-- The columns by which lists are ordered, filtered and summed move to a narrow table. A change of an action then writes no index of
-- recovery_actions, and its new version stays on its page. Invoices' actions are found by their cases.

-- All writers of actions hold the merchant's clock, so they wait from here on. Those of a process of the version before fail until it
-- ends: they would miss listed_actions.
alter table merchant_clocks add column lists int2 not null default 1;
alter table merchant_clocks alter column lists drop default;
comment on column merchant_clocks.lists is 'Without a default, so that no process writes actions without listed_actions.';

create table listed_actions (
  merchant_id uuid not null,
  facets text collate "C" not null,
  created_at timestamptz not null,
  id uuid not null,
  updated_at timestamptz not null,
  executed_at timestamptz,
  executed_on date generated always as ((executed_at at time zone 'UTC')::date) stored,
  transaction_id text collate "C",
  amount_due int8
);
insert into listed_actions (merchant_id, facets, created_at, id, updated_at, executed_at, transaction_id, amount_due)
select merchant_id, facets, created_at, id, updated_at, executed_at, transaction_id, amount_due from recovery_actions;

alter table listed_actions add constraint listed_actions_pkey primary key (merchant_id, facets, created_at, id);
create index listed_actions_updated on listed_actions (merchant_id, updated_at, id);
create index listed_actions_facets_updated on listed_actions (merchant_id, facets, updated_at, id);
create index listed_actions_executed on listed_actions (merchant_id, executed_at, id)
  include (facets, created_at, updated_at) where executed_at is not null;
create index listed_actions_facets_executed on listed_actions (merchant_id, facets, executed_at, id)
  include (created_at, updated_at) where executed_at is not null;
create index listed_actions_day_created on listed_actions (merchant_id, executed_on, created_at, id)
  include (facets, executed_at) where executed_at is not null;
create index listed_actions_day_updated on listed_actions (merchant_id, executed_on, updated_at, id)
  include (facets, executed_at) where executed_at is not null;
create index listed_actions_by_transaction on listed_actions (merchant_id, transaction_id) where transaction_id is not null;

alter table listed_actions alter column merchant_id set (n_distinct = 1);
alter table listed_actions enable row level security;
alter table listed_actions force row level security;
create policy wall on listed_actions using (merchant_id = nullif(current_setting('dunlin.merchant', true), '')::uuid);
create policy every_merchant on listed_actions to current_user using (case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0);

comment on table recovery_actions is 'An update of an action changes no column of an index, so that it writes none.';
comment on table listed_actions is 'What lists of recovery actions are ordered, filtered and summed by. The statement that writes an action writes it. Each write updates every index.';
comment on column listed_actions.facets is 'Country, currency, type and status in seven letters: what lists filter by.';
comment on column listed_actions.executed_on is 'The day in UTC. A column, because row-level security does not use an index on an expression.';

-- Last, because it also keeps readers waiting.
drop index recovery_actions_by_invoice;
drop index recovery_actions_by_transaction;
drop index recovery_actions_card_changes;
drop index recovery_actions_day_created;
drop index recovery_actions_day_updated;
drop index recovery_actions_executed;
drop index recovery_actions_facets_created;
drop index recovery_actions_facets_executed;
drop index recovery_actions_facets_updated;
drop index recovery_actions_updated;
-- Room for the versions of a row until PostgreSQL clears them away.
alter table recovery_actions set (fillfactor = 85);
