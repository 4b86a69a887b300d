-- People who sign in with an identity provider, beside those with a password.
alter table people alter column password drop not null; -- null: signs in with the provider

-- Who a person is to a provider. Neither side changes: an address that the provider gives to somebody else does not open this account.
create table identities (
  issuer text not null,
  subject text not null,
  person_id uuid not null references people,
  created_at timestamptz not null,
  primary key (issuer, subject),
  unique (person_id, issuer)
);

-- Sign-ins that left for the provider and have not come back (real time). The browser keeps the token; each comes back once.
create table provider_visits (
  hash bytea primary key check (octet_length(hash) = 32),
  started_at timestamptz not null
);
create index provider_visits_by_start on provider_visits (started_at);

-- Who signs in for the first time is found by the address that they were invited under.
create index invites_by_email on invites (email) where used_at is null and revoked_at is null;
