-- The processes of an installation, as each says of itself every five seconds. Real time, not service time.
create table processes (
  id uuid primary key,
  host text not null,
  pid integer not null,
  version text not null,
  roles text[] not null,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  -- Warnings and errors of the last ten minutes: [{name, count, last, why}].
  troubles jsonb not null default '[]'
);
