-- A person may end the recovery of an invoice.

alter table cases drop constraint cases_end_reason_check;
alter table cases add constraint cases_end_reason_check check (end_reason in (
  'paid', 'voided', 'uncollectible', 'refunded', 'draft', 'subscription_canceled', 'subscription_expired', 'window_over', 'budget_used', 'hopeless',
  'stopped_by_hand')) not valid;
alter table cases validate constraint cases_end_reason_check;
