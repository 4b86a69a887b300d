-- Row-level security in two policies: every role sees the rows of the merchant that its transaction names, and the owner and the
-- loops see all rows in sessions that ask for it. Conditions without subqueries cost less for each statement and row, and a
-- database that is spread over several servers accepts only those. The role of the loops is added when roles are prepared.
-- "<>" because PostgreSQL expects it to hold for nearly all rows, and plans for them; it expects "=" for hardly any.
do $$
declare
  wall record;
begin
  for wall in
    select c.oid::regclass as name, case when c.relname = 'merchants' then 'id' else 'merchant_id' end as owner
    from pg_policy p join pg_class c on c.oid = p.polrelid
    where c.relnamespace = current_schema()::regnamespace and p.polname = 'wall'
  loop
    execute format('drop policy wall on %s', wall.name);
    execute format('drop policy if exists every_merchant on %s', wall.name);
    execute format($policy$create policy wall on %s using (%I = nullif(current_setting('dunlin.merchant', true), '')::uuid)$policy$, wall.name, wall.owner);
    execute format($policy$create policy every_merchant on %s to current_user using (case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0)$policy$, wall.name);
  end loop;
end $$;
