// Random lives of invoices, pushed in random order, compared with a small independent model of the amount owed.
import pino from "pino";
import { readPretrainedModel } from "../../lab/trial/open-world.ts";
import type { Invoice } from "../../src/domain/invoice.ts";
import type { Merchant } from "../../src/domain/merchant.ts";
import type { Ports } from "../../src/domain/ports.ts";
import type { Subscription } from "../../src/domain/subscription.ts";
import type { Transaction } from "../../src/domain/transaction.ts";
import { ingestSubscriptions, ingestTransactions } from "../../src/ingest/ingest.ts";
import { ingestInvoices } from "../../src/ingest/ingest-invoices.ts";
import { createModelCache } from "../../src/learning/model-cache.ts";
import { createMerchant } from "../../src/merchants/merchant-settings.ts";
import { prepared } from "../../src/postgres/database.ts";
import { processDueCases } from "../../src/recovery/process-due-cases.ts";
import { createTestDatabase } from "../database.ts";
import { createDice, createInvoiceLife } from "./invoice-life.ts";
import { applyVersion, emptyFacts, type InvoiceFacts, isSettled, type Version } from "./invoice-model.ts";

/** Concurrent lives, so that one statement stores the changes of all of them. */
const LIVES_PER_RUN = 200;
const START = Date.UTC(2026, 2, 2, 10);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const log = pino({ level: "silent" });

const ASKED_INVOICES = prepared(
  "lives_asked",
  `select e.invoice_id as "invoiceId" from events e
   join deliveries d on d.merchant_id = e.merchant_id and d.event_id = e.id
   join recovery_actions r on r.merchant_id = e.merchant_id and r.id = e.id
   where e.merchant_id = $1 and r.type = 'RETRY'`,
);
const UNOBSERVED_INVOICES = prepared(
  "lives_unwatched",
  `select i.id as "invoiceId" from invoices i
   where i.merchant_id = $1 and not exists (
     select from cases c where c.merchant_id = $1 and c.invoice_id = i.id
       and (c.ended_at is null or c.end_reason in ('hopeless', 'budget_used', 'window_over')))
     and not exists (select from invoice_conflicts f where f.merchant_id = $1 and f.invoice_id = i.id)`,
);

export interface LivesOptions {
  lives: number;
  seed: number;
  print(line: string): void;
}

/** Runs the lives. Returns the problems, each with the seed of its life. */
export async function runLives({ lives, seed, print }: LivesOptions): Promise<string[]> {
  const { db, drop } = await createTestDatabase();
  const problems: string[] = [];
  let asked = 0;
  try {
    for (let from = 0; from < lives && problems.length < 20; from += LIVES_PER_RUN) {
      const count = Math.min(LIVES_PER_RUN, lives - from);
      const done = await runLivesTogether(db, seed + from, count);
      problems.push(...done.problems);
      asked += done.asked;
      if ((from / LIVES_PER_RUN) % 50 === 49)
        print(`${from + count} lives, ${problems.length} wrong; a retry waited ${asked} times`);
    }
    print(`${lives} lives from seed ${seed}, ${problems.length} wrong; a retry waited ${asked} times`);
  } finally {
    await drop();
  }
  if (asked === 0) problems.push("no retry waited in any life, so nothing was tested");
  return problems;
}

async function runLivesTogether(db: Awaited<ReturnType<typeof createTestDatabase>>["db"], seed: number, count: number) {
  const problems: string[] = [];
  let asked = 0;
  let now = START;
  let ids = 0;
  const ports: Ports = {
    now: () => new Date(now),
    realNow: () => new Date(now),
    monotonicMs: () => now,
    clockRate: 1,
    randomBytes: (size) => Buffer.alloc(size, 7),
    newId: () => `${seed.toString(16).padStart(8, "0")}-0000-7000-8000-${(++ids).toString(16).padStart(12, "0")}`,
  };
  const settings = { webhookUrl: "https://shop.example/hooks", credential: { auth: "bearer", secret: "t" } } as const;
  const lead = { leadMs: DAY, engine: "static" } as const;
  const merchant = await createMerchant(
    db,
    "Shop",
    { explore: true, ...settings, ...lead },
    [Buffer.alloc(32, 1)],
    ports,
  );
  const models = createModelCache({ db, ports, log, prior: readPretrainedModel() });
  const decide = async () => {
    while ((await processDueCases({ db, ports, log, models, onEvents() {}, onWithdrawn() {} })).processedCount > 0)
      now++;
  };
  const all = Array.from({ length: count }, (_, n) => {
    const own = createDice(seed + n);
    return { id: `inv_${n}`, seed: seed + n, ...createInvoiceLife(own, START), known: [emptyFacts(START)], own };
  });
  const waves = Math.max(...all.map(({ waves }) => waves.length));
  const check = async (when: string) => {
    const { rows } = await db.run<{ invoiceId: string }>(ASKED_INVOICES, [merchant.id]);
    asked += rows.length;
    const waiting = new Set(rows.map(({ invoiceId }) => invoiceId));
    for (const { id, known, seed } of all)
      if (waiting.has(id) && known.every(isSettled))
        problems.push(
          `life ${seed}: a retry waits to be sent ${when}, and nothing is owed: ${JSON.stringify([known[0]!.invoice, [...known[0]!.attempts.values()]])}`,
        );
  };
  for (let wave = 0; wave < waves; wave++) {
    const slots = [0, 1].map((slot) => all.map(({ id, waves }) => ({ id, versions: waves[wave]?.[slot] ?? [] })));
    await Promise.all(slots.map((slot) => pushVersions(db, merchant, slot, ports)));
    for (const life of all) life.known = possibleStatesAfter(life.known, life.waves[wave] ?? [], now);
    await check("after it was acknowledged");
    await decide();
    await check("after a step");
    // Days pass, so that planned retries are decided.
    now += wave % 2 ? DAY + HOUR : 61_000;
    await decide();
    await check("later");
  }
  const { rows } = await db.run<{ invoiceId: string }>(UNOBSERVED_INVOICES, [merchant.id]);
  const unwatched = new Set(rows.map(({ invoiceId }) => invoiceId));
  for (const { id, known, seed } of all)
    if (unwatched.has(id) && known.every(isCertainlyOwed) && now - START < 20 * DAY)
      problems.push(`life ${seed}: the invoice is owed, and no case is open`);
  return { problems, asked };
}

/** Owed by all sources: unpaid, never paid, and no canceled subscription. */
const isCertainlyOwed = ({ invoice, attempts, subscription }: InvoiceFacts) =>
  invoice?.version.state === "UNPAID" &&
  invoice.total > 0 &&
  invoice.due !== 0 &&
  subscription === null &&
  [...attempts.values()].every(({ version }) => version.state === "FAILED" && version.currency === "EUR");

/** Returns the possible facts after concurrent batches, for each order of their versions. */
function possibleStatesAfter(
  known: readonly InvoiceFacts[],
  batches: readonly Version[][],
  now: number,
): InvoiceFacts[] {
  const orders = batches.length < 2 ? [[0, 0, 0]] : [0, 1, 2, 3, 4, 5, 6, 7].map((n) => [n & 1, (n >> 1) & 1, n >> 2]);
  const kinds = ["subscription", "invoice", "attempt"] as const;
  const found = new Map<string, InvoiceFacts>();
  for (const each of known)
    for (const order of orders) {
      const next = structuredClone(each);
      for (const [index, kind] of kinds.entries())
        for (const batch of order[index] ? [batches[1] ?? [], batches[0] ?? []] : batches)
          for (const version of batch) if (version.kind === kind) applyVersion(next, version, now);
      found.set(JSON.stringify([next, [...next.attempts]]), next);
    }
  return [...found.values()];
}

async function pushVersions(
  db: Parameters<typeof ingestInvoices>[0],
  merchant: Merchant,
  slot: readonly { id: string; versions: readonly Version[] }[],
  ports: Ports,
) {
  const subscriptions: Subscription[] = [];
  const invoices: Invoice[] = [];
  const transactions: Transaction[] = [];
  const date = (at: number | null) => (at === null ? undefined : new Date(at)) as Date;
  for (const { id, versions } of slot)
    for (const version of versions) {
      const owner = { customerId: `cus_${id}`, createdAt: new Date(START), updatedAt: date(version.at) };
      if (version.kind === "subscription")
        subscriptions.push({ id: `sub_${id}`, state: version.state, amount: 1, currency: "EUR", ...owner });
      else if (version.kind === "invoice")
        invoices.push({
          ...{ id, state: version.state, amount: version.amount, amountDue: version.amountDue ?? undefined },
          ...{ currency: "EUR", subscriptionId: `sub_${id}`, ...owner },
        });
      else
        transactions.push({
          ...{ id: `${id}_${version.id}`, invoiceId: id, state: version.state, amount: version.amount },
          ...{ currency: version.currency, paymentMethodType: "card", cardFingerprint: `card_${id}`, ...owner },
          createdAt: new Date(version.createdAt),
        });
    }
  const onWithdrawn = () => {};
  if (subscriptions.length > 0) await ingestSubscriptions(db, merchant, [[...subscriptions]], ports, onWithdrawn);
  if (invoices.length > 0) await ingestInvoices(db, merchant, [[...invoices]], ports, onWithdrawn);
  if (transactions.length > 0) await ingestTransactions(db, merchant, [[...transactions]], ports, onWithdrawn);
}
