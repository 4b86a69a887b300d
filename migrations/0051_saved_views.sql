-- Saved views of lists, and indexes that find ids by their start.

create table saved_views (
  merchant_id uuid not null,
  person_id uuid not null,
  path text collate "C" not null,
  name text collate "C" not null,
  query text not null,
  created_at timestamptz not null,
  constraint saved_views_pkey primary key (merchant_id, person_id, path, name),
  constraint saved_views_merchant_id_person_id_fkey foreign key (merchant_id, person_id)
    references members (merchant_id, person_id) on delete cascade
);
alter table saved_views alter column merchant_id set (n_distinct = 1);
comment on table saved_views is 'Filters and order of a list page, which a member saved under a name.';
comment on column saved_views.query is 'As in the page''s address, without the position in the list.';

alter table saved_views enable row level security;
alter table saved_views force row level security;
create policy wall on saved_views using (
  merchant_id = (select nullif(current_setting('dunlin.merchant', true), '')::uuid)
  or (select current_setting('dunlin.every_merchant', true) = 'on' and current_user <> 'dunlin_api'));

-- The database's own collation may sort ids with one start apart.
create index cases_by_start_of_invoice on cases (merchant_id, invoice_id collate "C");
create index cases_by_start_of_customer on cases (merchant_id, customer_id collate "C");
create index cases_by_start_of_subscription on cases (merchant_id, subscription_id collate "C")
  where subscription_id is not null;
create index invoices_by_start_of_id on invoices (merchant_id, id collate "C");
create index invoices_by_start_of_customer on invoices (merchant_id, customer_id collate "C");
create index subscriptions_by_start_of_id on subscriptions (merchant_id, id collate "C");
create index transactions_by_start_of_id on transactions (merchant_id, id collate "C");
