import pino from "pino";
import { readPretrainedModel } from "../../../lab/trial/open-world.ts";
import type { Invoice } from "../../domain/invoice.ts";
import type { Role } from "../../domain/role.ts";
import type { Transaction } from "../../domain/transaction.ts";
import { ingestTransactions } from "../../ingest/ingest.ts";
import { ingestInvoices } from "../../ingest/ingest-invoices.ts";
import { createModelCache } from "../../learning/model-cache.ts";
import { createMerchant, type MerchantSettings } from "../../merchants/merchant-settings.ts";
import { prepared } from "../../postgres/database.ts";
import { processDueCases } from "../../recovery/process-due-cases.ts";
import { listAuditEntries } from "../../tables/audit-log.ts";
import { listDeliveries } from "../../tables/delivery-states.ts";
import { SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

const log = pino({ level: "silent" });

const NEXT_DUE = prepared("test_next_due_case", "select min(due_at) as at from due_cases where merchant_id = $1");
const DELIVERED = prepared(
  "test_take_deliveries",
  `with gone as (delete from deliveries where merchant_id = $1 returning event_id, round),
     logged as (insert into delivery_attempts (merchant_id, event_id, round, number, started_at, ended_at, duration_ms, ends, status)
       select $1, event_id, round, 1, $2::timestamptz, $2::timestamptz, 5, 'delivered', 200 from gone)
   insert into case_pokes (merchant_id, id, part, case_ids)
     select merchant_id, $3, 0, array_agg(id) from cases where merchant_id = $1 group by 1`,
);

/** A merchant with an endpoint, whose invoice `in_a` fails and is decided on by the learned policy. */
export async function openShop(at: TestConsole, settings: MerchantSettings = {}) {
  const { db, ports, clock } = at;
  const endpoint = { webhookUrl: "https://shop.example/hooks", credential: { auth: "bearer", secret: "t" } } as const;
  const merchant = await createMerchant(db, "Shop", { ...endpoint, ...settings }, SECRET_KEYS, ports);
  const models = createModelCache({ db, ports, log, prior: readPretrainedModel() });
  const shop = {
    merchant,
    as: async (role: Role) => at.browser(await at.person(role, merchant)),
    invoice(over: Partial<Invoice> = {}) {
      const now = ports.now();
      const invoice: Invoice = {
        ...{ id: "in_a", state: "UNPAID", customerId: "cus_1", amount: 4_900, currency: "EUR" },
        ...{ createdAt: now, updatedAt: now },
        ...over,
      };
      return ingestInvoices(db, merchant, [[invoice]], ports, () => {});
    },
    attempt(over: Partial<Transaction> = {}) {
      const now = ports.now();
      const attempt: Transaction = {
        ...{ id: `tx_${ports.newId()}`, state: "FAILED", invoiceId: "in_a", customerId: "cus_1", amount: 4_900 },
        ...{ currency: "EUR", createdAt: now, updatedAt: now, paymentMethodType: "card", cardBrand: "visa" },
        ...{ cardCountry: "DE", cardLast4: "4242", cardFunding: "DEBIT", cardFingerprint: "fp_1" },
        networkDeclineCode: "51",
        ...over,
      };
      return ingestTransactions(db, merchant, [[attempt]], ports, () => {});
    },
    async decide() {
      const deciding = { db, ports, log, onEvents() {}, onWithdrawn() {}, models };
      while ((await processDueCases(deciding)).processedCount > 0) clock.serviceMs++;
    },
    async fail(over: Partial<Transaction> = {}, invoice: Partial<Invoice> = {}) {
      await shop.invoice(invoice);
      await shop.attempt(over);
      await shop.decide();
    },
    wait(ms: number) {
      clock.serviceMs += ms;
    },
    /** Waits until the planned action is requested. */
    async untilRequested() {
      clock.serviceMs = (await db.run<{ at: Date }>(NEXT_DUE, [merchant.id])).rows[0]!.at.getTime();
      await shop.decide();
    },
    /** Lets the endpoint take all events. */
    async deliver() {
      await db.run(DELIVERED, [merchant.id, ports.now(), ports.newId()]);
      await shop.decide();
    },
    sent: async () =>
      (await listDeliveries(db, merchant.id, { limit: 20 })).map(({ type, state }) => `${type} ${state}`),
    audited: () => listAuditEntries(db, merchant.id, { noun: "recovery" }, 10),
  };
  return shop;
}
