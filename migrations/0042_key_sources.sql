-- A key of a connector names the billing system that its records come from.

alter table api_keys add column integration_type text;
alter table api_keys add constraint api_keys_integration_type_check
  check (integration_type = any (array['STRIPE', 'CHARGEBEE', 'RECURLY', 'RECHARGE', 'ZUORA']));
comment on column api_keys.integration_type is 'The billing system whose connector uses the key; null for the merchant''s own programs.';

alter table invoices add column integration_type text;
comment on column invoices.integration_type is 'Of the key that pushed this version.';
