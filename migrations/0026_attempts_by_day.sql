-- The attempts of a day, whenever their events were planned. The log is written in the order of its moments, so a line for 128 pages is enough:
-- an attempt writes as much WAL with it as without, 275 bytes, and 385 with an index that has a line for each.
create index delivery_attempts_started on delivery_attempts using brin (started_at) with (autosummarize = on);
