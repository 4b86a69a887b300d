-- A dump reads each partition by its own name. Without a policy it saw no row there, if the login is no superuser, and said nothing.
do $$
declare
  part record;
begin
  for part in
    select i.inhrelid::regclass as name, pg_get_expr(p.polqual, p.polrelid) as condition
    from pg_inherits i join pg_policy p on p.polrelid = i.inhparent and p.polname = 'wall'
    where not exists (select from pg_policy own where own.polrelid = i.inhrelid and own.polname = 'wall')
      and (select relnamespace from pg_class where oid = i.inhrelid) = current_schema()::regnamespace
  loop
    execute format('alter table %s enable row level security', part.name);
    execute format('alter table %s force row level security', part.name);
    execute format('create policy wall on %s using (%s)', part.name, part.condition);
  end loop;
end $$;
