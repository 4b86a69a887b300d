-- What a case came to and what it was about, with the case: sums over many cases and lists of one outcome read an index and nothing else.

alter table cases
  -- What the invoice asked for, by its last copy before the case ended or the copy that ended it; minor units.
  add column amount int8,
  add column currency text,
  -- An instruction of Dunlin succeeded.
  add column recovered boolean not null default false;

update cases c set
  amount = i.amount,
  currency = i.currency,
  recovered = exists (
    select 1 from recovery_actions r where r.merchant_id = c.merchant_id and r.case_id = c.id and r.status = 'SUCCEEDED')
from invoices i
where i.merchant_id = c.merchant_id and i.id = c.invoice_id;

alter table cases
  alter column amount set not null,
  alter column currency set not null,
  add column outcome text collate "C" not null generated always as (
    case when arm = 'merchant' then 'watched' when ended_at is null then 'open'
      when end_reason = 'paid' then case when recovered then 'recovered' else 'paid' end
      when end_reason in ('voided', 'refunded', 'draft') then 'stopped' else 'lost' end
  ) stored;

drop index cases_ended;
create index cases_ended on cases (merchant_id, ended_at) include (outcome, currency, amount) where ended_at is not null;
create index cases_by_outcome on cases (merchant_id, outcome, id) include (currency, amount);
drop index recovery_actions_succeeded;
