-- Requests per second to a merchant's endpoint; null: as fast as its cap lets through.
-- Since when every attempt has failed, and who paused the deliveries when: a person, or Dunlin after days of failures.
alter table merchants
  add column webhook_rate int4 check (webhook_rate between 1 and 10000),
  add column webhook_failing_since timestamptz,
  add column webhook_paused_at timestamptz,
  add column webhook_paused_by text check (webhook_paused_by in ('person', 'dunlin')),
  add check ((webhook_paused_at is null) = (webhook_paused_by is null)),
  add check (webhook_paused or webhook_paused_at is null);
update merchants set webhook_paused_at = updated_at, webhook_paused_by = 'person' where webhook_paused;
