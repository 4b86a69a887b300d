-- Shadow mode: cases that begin while it is on are decided and logged, and nothing is asked for.

alter table merchants add column shadow boolean not null default false;

alter table cases drop constraint cases_arm_check;
alter table cases add constraint cases_arm_check check (arm in ('dunlin', 'merchant', 'shadow')) not valid;
alter table cases validate constraint cases_arm_check;

-- What shadow mode saw is read in this order.
create index cases_in_shadow on cases (merchant_id, unpaid_at, id) where arm = 'shadow';
