-- The event that tells a merchant that a case has ended, for whatever reason. It is sent only to merchants that ask for it.

alter table events drop constraint events_type_check;
alter table events add constraint events_type_check
  check (type = any (array['recovery_action', 'pause_collection', 'complete_dunning', 'recovery_ended']));

alter table merchants add column sends_recovery_ended boolean not null default false;
comment on column merchants.sends_recovery_ended is 'Whether the endpoint gets recovery_ended when a case ends.';
