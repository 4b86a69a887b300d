-- Requests with records that were ignored as older are few among many, and people look for them when a change did not arrive.
create index request_log_older on request_log (merchant_id, id) where older > 0;
