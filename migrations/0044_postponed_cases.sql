alter table cases add column postponed_until timestamptz;
comment on column cases.postponed_until is 'Until when a person or program of the merchant allows no retry.';
