import type { Merchant } from "../src/domain/merchant.ts";
import type { Ports } from "../src/domain/ports.ts";
import { ingestInvoices } from "../src/ingest/ingest-invoices.ts";
import type { Database } from "../src/postgres/database.ts";
import { casesOfInvoice } from "../src/tables/cases.ts";
import { insertEvents } from "../src/tables/events.ts";

/** Creates an unpaid invoice `inv_1` with a case, and a waiting event of the case. Returns the event's id. */
export async function createWaitingEvent(db: Database, merchant: Merchant, ports: Ports): Promise<string> {
  const at = ports.now();
  const of = { customerId: "cus_1", amount: 4_900, currency: "EUR", createdAt: at, updatedAt: at };
  await ingestInvoices(db, merchant, [[{ id: "inv_1", state: "UNPAID", ...of }]], ports, () => {});
  const [recoveryCase] = await casesOfInvoice(db, merchant.id, "inv_1");
  const id = ports.newId();
  const event = {
    id,
    caseId: recoveryCase!.id,
    invoiceId: "inv_1",
    type: "pause_collection",
    body: "{}",
    createdAt: at,
  } as const;
  await insertEvents(db, merchant.id, [event]);
  return id;
}
