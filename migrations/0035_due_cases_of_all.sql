-- Whoever decides finds what is due in one place, and reads nothing of merchants with nothing due.
create index due_cases_of_all on due_cases (due_at, merchant_id);
