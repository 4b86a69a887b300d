-- What became of the cases that failed in a span of time is read from the index alone: once their windows are over, they are among those that ended since.

drop index cases_ended;
create index cases_ended on cases (merchant_id, ended_at) include (outcome, currency, amount, unpaid_at) where ended_at is not null;
