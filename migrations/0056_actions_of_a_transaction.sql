-- A transaction's actions are found by its invoice's cases, so one index less is written.
drop index listed_actions_by_transaction;
alter table listed_actions drop column transaction_id;
