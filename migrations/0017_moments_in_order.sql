-- Nothing is executed before it is planned, or changed for the last time before it is executed: pages of the list do not look into days that this
-- rules out. Rows from before were written by the same clock and are not read through, which would lock a large table for long.
alter table recovery_actions add constraint recovery_actions_moments
  check (executed_at is null or (created_at <= executed_at and executed_at <= updated_at)) not valid;
