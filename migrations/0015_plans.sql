-- A prepared statement is planned once for all merchants, by the share of a table that the average one has. Of a big merchant among many
-- small ones it would then read every row, where it has keys for ten. Said to be of one merchant, a table is planned for its biggest, as
-- far as the statistics know that; each statement finds its rows by all of its keys then, which is right for the small ones, too.
-- In tables that come later: the same line. A test names those that lack it.
do $$
declare
  big text;
  is_used boolean;
begin
  foreach big in array array[
    'subscriptions', 'invoices', 'transactions', 'cases', 'due_cases', 'case_pokes', 'recovery_actions', 'events', 'deliveries',
    'action_counts', 'executed_counts', 'experiment_invoices']
  loop
    execute format('alter table %I alter column merchant_id set (n_distinct = 1)', big);
    -- It counts from the next ANALYZE on. A table that PostgreSQL knows to be empty would be read without an index.
    execute format('select exists (select from %I)', big) into is_used;
    if is_used then execute format('analyze %I', big); end if;
  end loop;
end $$;
