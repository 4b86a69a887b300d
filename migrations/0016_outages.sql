-- Attempts that found a bank down, few among all: what says that it is down for everybody.
create index transactions_by_outage on transactions (merchant_id, card_issuer, created_at)
  where state = 'FAILED' and network_decline_code in ('91', '96');
