-- Amounts of several currencies as one sum, at rates that the merchant gives.

alter table merchants add column reporting_currency text,
  add constraint merchants_reporting_currency_check check (reporting_currency ~ '^[A-Z]{3}$');

create table reporting_rates (
  merchant_id uuid not null,
  currency text not null,
  rate numeric not null,
  set_at timestamptz not null,
  constraint reporting_rates_pkey primary key (merchant_id, currency),
  constraint reporting_rates_currency_check check (currency ~ '^[A-Z]{3}$'),
  constraint reporting_rates_rate_check check (rate > 0 and rate < 1e9)
);
alter table reporting_rates alter column merchant_id set (n_distinct = 1);
comment on table reporting_rates is 'How many units of the reporting currency one unit of a currency is.';

alter table reporting_rates enable row level security;
alter table reporting_rates force row level security;
create policy wall on reporting_rates using (
  merchant_id = (select nullif(current_setting('dunlin.merchant', true), '')::uuid)
  or (select current_setting('dunlin.every_merchant', true) = 'on' and current_user <> 'dunlin_api'));
