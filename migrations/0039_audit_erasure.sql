-- The audit log takes inserts only, except where a customer is erased, a merchant deleted, or old entries go. Their transaction says so,
-- which dunlin_api is never believed; and neither role may change the table.
drop rule audit_log_is_not_updated on audit_log;
drop rule audit_log_is_not_deleted on audit_log;
create rule audit_log_is_not_updated as on update to audit_log
  where coalesce(current_setting('dunlin.erasing', true), '') <> 'on' or current_user = 'dunlin_api' do instead nothing;
create rule audit_log_is_not_deleted as on delete to audit_log
  where coalesce(current_setting('dunlin.erasing', true), '') <> 'on' or current_user = 'dunlin_api' do instead nothing;
