-- Every invoice that is pushed asks for its customer's open cases. In words of its own: an index of all open cases would be read from end to end for each
-- customer, while statistics know of no open case.

create index cases_open_of_customer on cases (merchant_id, customer_id) where coalesce(ended_at, 'infinity') = 'infinity';
