-- A step that ends a case by a payment that came before its invoice did not note that the invoice was paid: a bounce opened no case.
update cases set invoice_left = true where end_reason = 'paid' and not invoice_left;
