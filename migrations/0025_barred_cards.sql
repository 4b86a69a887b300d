-- What bars a card bars it however long ago it was: declines on a card are found beyond the ledger's days without reading what was approved.
create index transactions_declined_on_card on transactions (merchant_id, card_fingerprint, created_at)
  where card_fingerprint is not null and state = 'FAILED';
