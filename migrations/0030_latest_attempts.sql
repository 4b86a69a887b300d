-- A merchant's latest attempts, whoever's they were: what says that its way to banks is down for everybody, where no bank is named. Those that ended, and among
-- as early ones the greater ids: debits that are pending for days, or a day's attempts that all have the moment of its midnight, are not read for it.
create index transactions_ended_by_moment on transactions (merchant_id, created_at, id) where state <> 'PENDING';
