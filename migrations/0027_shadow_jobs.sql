-- Shadow mode is compared with the merchant's own system on a page, too.
alter table jobs drop constraint jobs_kind_check, add constraint jobs_kind_check check (kind in ('replay', 'backtest', 'shadow'));
