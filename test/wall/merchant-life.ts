import { randomBytes } from "node:crypto";
import pino from "pino";
import { readPretrainedModel } from "../../lab/trial/open-world.ts";
import type { Merchant } from "../../src/domain/merchant.ts";
import type { Ports } from "../../src/domain/ports.ts";
import { ingestSubscriptions, ingestTransactions } from "../../src/ingest/ingest.ts";
import { ingestInvoices } from "../../src/ingest/ingest-invoices.ts";
import { createModelCache } from "../../src/learning/model-cache.ts";
import { createMerchant, type MerchantSettings } from "../../src/merchants/merchant-settings.ts";
import { type Database, prepared } from "../../src/postgres/database.ts";
import { processDueCases } from "../../src/recovery/process-due-cases.ts";
import { readFirstPage, readPageAfter } from "../../src/tables/actions-list/action-list.ts";

const HOUR = 3_600_000;
const START = Date.UTC(2026, 2, 2, 10);

/** Creates ports whose ids begin with `prefix`, two hexadecimal digits, and count up. */
export function createPorts(prefix: string): Ports & { wait(ms: number): void } {
  let ids = 0;
  let nowMs = START;
  return {
    now: () => new Date(nowMs),
    realNow: () => new Date(nowMs),
    monotonicMs: () => nowMs,
    clockRate: 1,
    randomBytes: prefix === "" ? randomBytes : (size) => Buffer.alloc(size, 7),
    newId: () => `01900000-0000-7000-80${prefix}-${(++ids).toString(16).padStart(12, "0")}`,
    wait(ms) {
      nowMs += ms;
    },
  };
}

export const createShop = (db: Database, ports: Ports, settings: MerchantSettings = {}) =>
  createMerchant(
    db,
    "Shop",
    { webhookUrl: "https://shop.example/hooks", credential: { auth: "bearer", secret: "t" }, ...settings },
    [Buffer.alloc(32, 1)],
    { ...ports, randomBytes: (size) => Buffer.alloc(size, 7) },
  );

const log = pino({ level: "silent" });

/** Runs some weeks of a merchant, with the same ids for every merchant: pushes records, decides, and lists. */
export async function runMerchantLife(
  db: Database,
  merchant: Merchant,
  ports: ReturnType<typeof createPorts>,
  customer: string,
) {
  const record = (id: number) => ({
    customerId: customer,
    amount: 4900,
    currency: "EUR",
    createdAt: new Date(START - id * HOUR),
    updatedAt: ports.now(),
  });
  const invoices = (state: "UNPAID" | "PAID", ids: readonly number[]) =>
    ingestInvoices(
      db,
      merchant,
      [[...ids.map((id) => ({ id: `inv_${id}`, state, subscriptionId: `sub_${id}`, ...record(id) }))]],
      ports,
      () => {},
    );
  const failed = (id: number) =>
    ingestTransactions(
      db,
      merchant,
      [
        [
          {
            id: `tx_${id}_${ports.now().getTime()}`,
            state: "FAILED",
            invoiceId: `inv_${id}`,
            paymentMethodId: "pm",
            cardFingerprint: "fp",
            cardIssuer: "bank",
            cardBrand: "visa",
            networkDeclineCode: "51",
            ...record(id),
            createdAt: ports.now(),
          },
        ],
      ],
      ports,
      () => {},
    );
  const models = createModelCache({ db, ports, log, prior: readPretrainedModel() });
  const decide = async () => {
    while ((await processDueCases({ db, ports, log, models, onEvents() {}, onWithdrawn() {} })).processedCount > 0)
      ports.wait(1);
  };
  const seen: unknown[] = [];
  await invoices("PAID", [7, 8]);
  await invoices("UNPAID", [1, 2, 3]);
  for (const id of [1, 2, 3]) {
    await failed(id);
    ports.wait(1000);
  }
  await decide();
  for (let round = 0; round < 6; round++) {
    ports.wait(60 * HOUR);
    await failed(1 + (round % 3));
    await decide();
  }
  await invoices("PAID", [1]);
  await ingestSubscriptions(db, merchant, [[{ id: "sub_2", state: "CANCELED", ...record(2) }]], ports, () => {});
  await decide();
  for (const orderBy of ["created_at", "updated_at", "executed_at"] as const) {
    const listing = { filters: {}, orderBy, descending: false };
    const { total, actions } = await readFirstPage(db, merchant.id, listing, 2);
    const last = actions.at(-1);
    const cursor = last && { at: last.cursorAt, id: last.id };
    seen.push(total, actions, cursor ? await readPageAfter(db, merchant.id, listing, cursor, total, 100) : []);
  }
  return seen;
}

const TENANT_TABLES = prepared(
  "test_walled_tables",
  `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
   where c.relkind in ('r', 'p') and not c.relispartition and a.attname = 'merchant_id' and c.relnamespace = 'public'::regnamespace
   order by 1`,
);

/** Returns every row that belongs to a merchant, by table. */
export async function readMerchantRows(db: Database, merchantId: string) {
  const { rows } = await db.run<{ name: string }>(TENANT_TABLES);
  const all: Record<string, unknown[]> = {};
  for (const { name } of rows) {
    const text = `select to_jsonb(t) as row from ${name} t where merchant_id = $1 order by to_jsonb(t)::text`;
    all[name] = (await db.run<{ row: unknown }>(prepared("", text), [merchantId])).rows.map(({ row }) => row);
  }
  return all;
}
