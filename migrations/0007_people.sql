-- People who use the console, what they may do for which merchant, and what they did.

-- A person may work for several merchants. The address is kept in lower case: it is what one signs in with.
create table people (
  id uuid primary key,
  email text not null unique check (email = lower(email)),
  name text not null check (name <> ''),
  password text not null, -- scrypt$N$r$p$salt$hash
  zone text not null default 'UTC',
  theme text not null default 'system' check (theme in ('system', 'light', 'dark')),
  created_at timestamptz not null
);

create table members (
  merchant_id uuid not null references merchants,
  person_id uuid not null references people,
  role text not null check (role in ('owner', 'admin', 'developer', 'viewer')),
  created_at timestamptz not null,
  primary key (merchant_id, person_id)
);
create index members_by_person on members (person_id);

-- Only the SHA-256 of a session's token is kept. All its moments are real time, as its cookie's are.
create table sessions (
  hash bytea primary key check (octet_length(hash) = 32),
  person_id uuid not null references people,
  merchant_id uuid, -- whose pages are shown; null: not a member of any
  created_at timestamptz not null,
  seen_at timestamptz not null
);
create index sessions_by_person on sessions (person_id);

-- A link that makes whoever follows it a member. Only the SHA-256 of its token is kept; it ends in real time and works once.
create table invites (
  merchant_id uuid not null references merchants,
  id uuid not null,
  hash bytea not null check (octet_length(hash) = 32),
  role text not null check (role in ('owner', 'admin', 'developer', 'viewer')),
  email text check (email = lower(email)), -- null: whoever has the link
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  revoked_at timestamptz,
  primary key (merchant_id, id)
);
create index invites_by_hash on invites (hash);

-- How often somebody tried to sign in of late (real time): counted before the password is looked at, in every process alike.
create table sign_in_counts (
  subject text primary key,
  tries int4 not null,
  since timestamptz not null
);

-- Who changed what, written in the transaction of the change. Nothing is ever taken back: the rules turn every later change into none,
-- whoever asks. Secrets are never in it.
create table audit_log (
  merchant_id uuid not null,
  id uuid not null,
  at timestamptz not null,
  person_id uuid, -- null: a command on the machine
  actor text not null,
  deed text not null,
  object text not null,
  details jsonb not null,
  address text,
  primary key (merchant_id, id)
);
create rule audit_log_is_not_updated as on update to audit_log do instead nothing;
create rule audit_log_is_not_deleted as on delete to audit_log do instead nothing;

-- Pages of what ended lately.
create index cases_ended on cases (merchant_id, ended_at) where ended_at is not null;

-- Who made a key, and in place of which one.
alter table api_keys add column made_by text;
alter table api_keys add column replaces uuid;
