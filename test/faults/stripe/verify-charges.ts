import type Stripe from "stripe";
import type { Database } from "../../../src/postgres/database.ts";
import { prepared } from "../../../src/postgres/database.ts";
import type { ReportProblem } from "../harness/problems.ts";
import type { SimulatedAccount } from "./stripe-account.ts";

interface LedgerRow {
  id: string;
  invoiceId: string;
  state: string;
  chargeId: string | null;
}

const LEDGER = prepared(
  "stripe_campaign_ledger",
  `select id, invoice_id as "invoiceId", state, charge_id as "chargeId" from connector_actions where merchant_id = $1`,
);
const KNOWN = prepared(
  "stripe_campaign_invoices",
  `select i.id, i.state, (select k.arm from cases k where k.merchant_id = $1 and k.invoice_id = i.id order by k.opened_at limit 1) as arm
   from invoices i where i.merchant_id = $1`,
);
const MAILS = prepared(
  "stripe_campaign_mails",
  `select invoice_id as "invoiceId", count(*)::int4 as count from connector_messages
   where merchant_id = $1 and state = 'sent' group by 1 order by 2 desc limit 1`,
);

export interface ChargeCounts {
  charges: number;
  byAccount: number;
  byRequest: number;
  byCustomer: number;
  actions: number;
  invoices: number;
  paid: number;
}

const MAILS_MAX = 3;

/** Compares the account's charges and invoices with the connector's ledger and Dunlin's records. */
export async function verifyCharges(
  { double: { account, billing } }: SimulatedAccount,
  db: Database,
  merchantId: string,
  broken: ReportProblem,
): Promise<ChargeCounts> {
  const ledger = (await db.run<LedgerRow>(LEDGER, [merchantId])).rows;
  const known = new Map(
    (await db.run<{ id: string; state: string; arm: string | null }>(KNOWN, [merchantId])).rows.map((row) => [
      row.id,
      row,
    ]),
  );
  const charges = account.list<Stripe.Charge>("charge");
  const invoices = account.list<Stripe.Invoice>("invoice");
  const invoiceOf = new Map(
    account
      .list<Stripe.InvoicePayment>("invoice_payment")
      .map(({ payment, invoice }) => [payment.payment_intent as string, invoice as string]),
  );
  const actionsOf = Map.groupBy(
    ledger.filter(({ chargeId }) => chargeId !== null),
    ({ chargeId }) => chargeId!,
  );
  const makers = { account: 0, request: 0, page: 0 };
  const successes = new Map<string, number>();
  for (const charge of charges) {
    const maker = billing.originOf(charge.id)!;
    makers[maker]++;
    const invoiceId = invoiceOf.get(charge.payment_intent as string)!;
    if (charge.status === "succeeded") successes.set(invoiceId, (successes.get(invoiceId) ?? 0) + 1);
    const actions = actionsOf.get(charge.id) ?? [];
    if (maker === "request") {
      if (actions.length !== 1) broken("S2", `charge ${charge.id} has ${actions.length} actions`);
      if (known.get(invoiceId)?.arm !== "dunlin")
        broken("S2", `invoice ${invoiceId} of arm ${known.get(invoiceId)?.arm} was charged by request`);
    } else if (actions.length > 0) broken("S2", `action ${actions[0]!.id} claims a charge by the ${maker}`);
  }
  for (const [invoiceId, count] of successes)
    if (count > 1) broken("S1", `invoice ${invoiceId} was paid ${count} times`);
  for (const { id, state, chargeId } of ledger) {
    if ((state === "charged" || state === "declined") && chargeId === null)
      broken("S2", `action ${id} is ${state} without a charge`);
    if (state === "charging" || state === "planned") broken("S2", `action ${id} is still ${state}`);
  }
  let paid = 0;
  for (const invoice of invoices) {
    const record = known.get(invoice.id);
    if (invoice.status === "paid") {
      paid++;
      if (record?.state !== "PAID")
        broken("S3", `paid invoice ${invoice.id} is ${record?.state ?? "unknown"} to Dunlin`);
    }
    if (invoice.metadata?.dunlin) broken("S4", `invoice ${invoice.id} (${invoice.status}) still has Dunlin's mark`);
    if (invoice.status !== "open" || invoice.auto_advance) continue;
    const id = invoice.parent?.subscription_details?.subscription as string;
    if (account.find<Stripe.Subscription>("subscription", id)?.status !== "canceled")
      broken("S4", `open invoice ${invoice.id} has no retries although its recovery ended`);
  }
  const [most] = (await db.run<{ invoiceId: string; count: number }>(MAILS, [merchantId])).rows;
  if (most && most.count > MAILS_MAX) broken("S5", `invoice ${most.invoiceId} got ${most.count} mails`);
  return {
    ...{ charges: charges.length, byAccount: makers.account, byRequest: makers.request, byCustomer: makers.page },
    ...{ actions: ledger.length, invoices: invoices.length, paid },
  };
}
