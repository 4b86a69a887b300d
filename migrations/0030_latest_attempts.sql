-- A merchant's latest attempts, whoever's they were: what says that its way to banks is down for everybody, where no bank is named.
create index transactions_by_moment on transactions (merchant_id, created_at);
