-- Ids are compared by the codes of their characters, whatever language the database sorts by. The index that finds an id, or
-- the rows of one, then also finds ids by their start, and seven indexes for that alone go. They took a third of PostgreSQL's
-- time for new invoices. Each index over an id is built again: about 15 s for a million invoices with their attempts.
drop index cases_by_start_of_invoice;
drop index cases_by_start_of_customer;
drop index cases_by_start_of_subscription;
drop index invoices_by_start_of_id;
drop index invoices_by_start_of_customer;
drop index subscriptions_by_start_of_id;
drop index transactions_by_start_of_id;
drop index cases_by_subscription;

alter table cases
  alter column invoice_id type text collate "C",
  alter column customer_id type text collate "C",
  alter column subscription_id type text collate "C",
  alter column plan_id type text collate "C";
alter table connector_actions
  alter column id type text collate "C",
  alter column invoice_id type text collate "C",
  alter column charge_id type text collate "C";
alter table connector_events alter column id type text collate "C", alter column invoice_id type text collate "C";
alter table connector_hints alter column object_id type text collate "C";
alter table connector_invoices
  alter column invoice_id type text collate "C",
  alter column customer_id type text collate "C";
alter table connector_messages
  alter column id type text collate "C",
  alter column invoice_id type text collate "C",
  alter column customer_id type text collate "C";
alter table connector_payments
  alter column payment_id type text collate "C",
  alter column invoice_id type text collate "C",
  alter column customer_id type text collate "C",
  alter column subscription_id type text collate "C";
alter table connector_versions alter column object_id type text collate "C";
alter table events alter column invoice_id type text collate "C";
alter table experiment_invoices
  alter column invoice_id type text collate "C",
  alter column customer_id type text collate "C";
alter table invoice_conflicts alter column invoice_id type text collate "C";
alter table invoices
  alter column id type text collate "C",
  alter column customer_id type text collate "C",
  alter column subscription_id type text collate "C";
alter table recovery_actions
  alter column invoice_id type text collate "C",
  alter column subscription_id type text collate "C",
  alter column customer_id type text collate "C",
  alter column transaction_id type text collate "C";
alter table subscriptions
  alter column id type text collate "C",
  alter column customer_id type text collate "C",
  alter column plan_id type text collate "C";
alter table transactions
  alter column id type text collate "C",
  alter column invoice_id type text collate "C",
  alter column customer_id type text collate "C",
  alter column subscription_id type text collate "C",
  alter column recovery_action_id type text collate "C",
  alter column payment_method_id type text collate "C",
  alter column payment_gateway_id type text collate "C",
  alter column payment_gateway_transaction_id type text collate "C";
alter table watched_retries alter column transaction_id type text collate "C";

create index cases_by_subscription on cases (merchant_id, subscription_id) where subscription_id is not null;
