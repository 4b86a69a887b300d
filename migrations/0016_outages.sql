-- The latest attempts at a bank, whoever's they were: what says that it is down for everybody.
create index transactions_by_issuer on transactions (merchant_id, card_issuer, created_at) where card_issuer is not null;
