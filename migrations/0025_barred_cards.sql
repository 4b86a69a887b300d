-- What bars a card bars it however long ago it was: declines on a card are found beyond the ledger's days without reading what was approved.
create index transactions_declined_on_card on transactions (merchant_id, card_fingerprint, created_at)
  where card_fingerprint is not null and state = 'FAILED';

-- Expired cards are tried while another one is asked for: cases that wait for one are looked at once.
insert into case_pokes (merchant_id, id, part, case_ids)
select merchant_id, '00000000-0000-0000-0000-000000000001', part, array_agg(id order by id)
from (
  select c.merchant_id, c.id, (row_number() over (partition by c.merchant_id order by c.id) - 1) / 100 as part
  from cases c
  where c.ended_at is null and exists (
    select from recovery_actions r where r.merchant_id = c.merchant_id and r.case_id = c.id and r.type = 'CARD_CHANGE' and r.status = 'SENT')
) k
group by merchant_id, part;
