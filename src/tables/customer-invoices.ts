import type { Invoice } from "../domain/invoice.ts";
import { encodeTextArray } from "../postgres/binary-array.ts";
import { prepared, type Tx } from "../postgres/database.ts";

export interface CustomerInvoice
  extends Pick<Invoice, "id" | "customerId" | "state" | "amount" | "currency" | "createdAt"> {
  subscriptionId: string | null;
  /** An open case has a planned or sent action. */
  isPlanned: boolean;
  unpaidAt: Date | null;
  paidAt: Date | null;
}

const INVOICES_PER_CUSTOMER_MAX = 16;

const OF_CUSTOMERS = prepared(
  "bills_of_customers",
  `select i.*, k.unpaid_at as "unpaidAt", k.paid_at as "paidAt", k.planned as "isPlanned"
   from unnest($2::text[]) as c (id)
   cross join lateral (
     select id, customer_id as "customerId", subscription_id as "subscriptionId", state, amount, currency,
       created_at as "createdAt"
     from invoices
     where merchant_id = $1 and customer_id = c.id and created_at > $3
     order by created_at desc, id limit ${INVOICES_PER_CUSTOMER_MAX}
   ) i
   cross join lateral (
     select min(unpaid_at) as unpaid_at, max(paid_at) as paid_at,
       coalesce(bool_or(ended_at is null and exists (
         select 1 from recovery_actions r
         where r.merchant_id = $1 and r.case_id = cases.id and r.status in ('SCHEDULED', 'SENT'))), false) as planned
     from cases where merchant_id = $1 and invoice_id = i.id) k
   order by i.id`,
);

/** Per customer; ordered by id. */
export async function latestInvoicesOfCustomers(
  tx: Tx,
  merchantId: string,
  customerIds: readonly string[],
  since: Date,
) {
  return (await tx.run<CustomerInvoice>(OF_CUSTOMERS, [merchantId, encodeTextArray(customerIds, "text"), since])).rows;
}
