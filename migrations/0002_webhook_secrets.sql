-- Secrets by which a merchant's endpoint checks the signature of what we send: AES-256-GCM boxes, as the credential. While a
-- rotation lasts there are two, and the older one signs until its moment (service time) has come.
alter table merchants
  add column webhook_secret bytea,
  add column webhook_old_secret bytea,
  add column webhook_old_secret_until timestamptz,
  add check ((webhook_old_secret is null) = (webhook_old_secret_until is null)),
  add check (webhook_secret is not null or webhook_old_secret is null);
