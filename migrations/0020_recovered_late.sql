-- A retry may succeed after its case has ended: asked for within the window and paid after it, or the last one of the budget, paid after a copy of
-- the invoice said that it had failed. Such a case counted as lost; what was recovered is recovered, whatever ended the case.
-- The table is rewritten and all its indexes are built anew, while nobody reads or writes it: some 20 seconds for a million cases, and room for a
-- second copy of both meanwhile. PostgreSQL changes the expression of a column only from 17 on, and rewrites the table then, too.

-- An instruction may have brought in a part of what was asked for, and nobody the rest. Such a case, too, was marked, which only showed where all was paid.
update cases c set recovered = false
from invoices i
where c.recovered and c.end_reason <> 'paid' and i.merchant_id = c.merchant_id and i.id = c.invoice_id
  and not (i.state = 'PAID' and i.updated_at >= c.unpaid_at)
  and not exists (
    select from recovery_actions r left join transactions t on t.merchant_id = r.merchant_id and t.id = r.transaction_id
    where r.merchant_id = c.merchant_id and r.case_id = c.id and r.status = 'SUCCEEDED'
      and (r.transaction_id is null
        or t.state in ('PAID', 'REFUNDED', 'DISPUTED') and t.invoice_id = i.id and t.currency = i.currency and t.amount >= i.amount));

alter table cases
  drop column outcome,
  add column outcome text collate "C" not null generated always as (
    case when arm <> 'dunlin' then 'watched' when ended_at is null then 'open'
      when recovered then 'recovered' when end_reason = 'paid' then 'paid'
      when end_reason in ('voided', 'refunded', 'draft') then 'stopped' else 'lost' end
  ) stored;

-- They went with the column.
create index cases_ended on cases (merchant_id, ended_at) include (outcome, currency, amount) where ended_at is not null;
create index cases_by_outcome on cases (merchant_id, outcome, id) include (currency, amount);

-- What PostgreSQL knew of the column went, too. A table that it knows to be empty would be read without an index.
do $$
begin
  if exists (select from cases) then analyze cases; end if;
end $$;
