-- Whether a copy of an invoice that was replaced was in recovery; null: none was. Only then can it have cases, whose ends and outcomes a copy out of
-- recovery may change, so they are looked for only then. Of rows from before nobody knows: the default that they got says that one was.
alter table invoices add column was_in_recovery boolean default true;
alter table invoices alter column was_in_recovery drop default;
