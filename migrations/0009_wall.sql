-- The second wall between merchants. The first is that every statement names its merchant; should one ever forget to, the rows of all
-- others are out of its sight. The setting dunlin.merchant holds for one transaction. What works for all merchants at once (loops, keys,
-- the log of requests, commands) says dunlin.every_merchant when it connects, which the role dunlin_api is never believed.
-- The selects are answered once for each statement, not for each row.
-- In tables that come later: the same three lines. A test names those that lack them.
do $$
declare
  walled record;
begin
  for walled in
    select c.oid::regclass as name, a.attname as merchant
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not a.attisdropped
      and (a.attname = 'merchant_id' or (a.attname = 'id' and c.relname = 'merchants'))
  loop
    execute format('alter table %s enable row level security', walled.name);
    execute format('alter table %s force row level security', walled.name);
    execute format(
      'create policy wall on %s using (
         %I = (select nullif(current_setting(''dunlin.merchant'', true), '''')::uuid)
         or (select current_setting(''dunlin.every_merchant'', true) = ''on'' and current_user <> ''dunlin_api''))',
      walled.name, walled.merchant);
  end loop;
end $$;
