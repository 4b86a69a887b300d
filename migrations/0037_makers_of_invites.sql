-- An invite ends with the right to make it. null: the command line made it, or nobody wrote down who did.
alter table invites add column made_by uuid;
