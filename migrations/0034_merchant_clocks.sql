-- Each merchant has a clock from its beginning: who makes the first row of one holds up everybody who would make it as well.
insert into merchant_clocks (merchant_id, last_at) select id, created_at from merchants on conflict (merchant_id) do nothing;
