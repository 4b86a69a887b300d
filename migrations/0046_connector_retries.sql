-- An action keeps its time when its execution failed, so that one that is late is known as late.

alter table connector_actions add column retry_at timestamptz;
comment on column connector_actions.retry_at is 'When it is tried again; null: at due_at.';

alter table connections add column ending_at timestamptz;
comment on column connections.ending_at is 'Since when its invoices are given back; its connector then ends, and takes over no more.';
