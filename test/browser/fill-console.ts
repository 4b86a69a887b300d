import { randomBytes } from "node:crypto";
import pino from "pino";
import { readPretrainedModel } from "../../lab/trial/open-world.ts";
import { createApiKey } from "../../src/auth/api-keys.ts";
import { createPasswords } from "../../src/auth/password.ts";
import { createDeliverer } from "../../src/delivery/deliverer.ts";
import type { Send } from "../../src/delivery/https/https-sender.ts";
import type { Invoice } from "../../src/domain/invoice.ts";
import type { Merchant } from "../../src/domain/merchant.ts";
import { PERMISSIONS } from "../../src/domain/permission.ts";
import { COMMAND_LINE_ACTOR } from "../../src/domain/person.ts";
import type { Ports } from "../../src/domain/ports.ts";
import { ROLES } from "../../src/domain/role.ts";
import type { Transaction } from "../../src/domain/transaction.ts";
import { ingestTransactions } from "../../src/ingest/ingest.ts";
import { ingestInvoices } from "../../src/ingest/ingest-invoices.ts";
import { requestBacktest } from "../../src/jobs/backtest-job.ts";
import { createModelCache } from "../../src/learning/model-cache.ts";
import { createMerchant } from "../../src/merchants/merchant-settings.ts";
import { type Database, prepared } from "../../src/postgres/database.ts";
import { uuidV7 } from "../../src/process/clock.ts";
import { processDueCases } from "../../src/recovery/process-due-cases.ts";
import { writeAuditEntry } from "../../src/tables/audit-log.ts";
import { addMember } from "../../src/tables/members.ts";
import { insertPerson } from "../../src/tables/people.ts";
import { createVariedHistory, splitIntoBatches } from "../varied-history.ts";
import { fillEdgeCases } from "./fill-edge-cases.ts";
import { fillExperiments } from "./fill-experiments.ts";

export const SECRET_KEYS = [Buffer.alloc(32, 7)];
const PASSWORD = "correct horse battery";
const START_MS = Date.UTC(2026, 9, 5, 6);
const HOUR_MS = 3_600_000;
const STEP_MS = 6 * HOUR_MS;
const DAYS = 35;
/** Invoices of the imported history. */
const HISTORY_INVOICES = 2_400;
const CURRENCIES = ["EUR", "EUR", "USD", "USD", "JPY", "KWD", "HUF", "CLF"];
const AMOUNTS: Record<string, number> = { JPY: 1234, KWD: 1234, HUF: 123456, CLF: 12345 };
const COUNTRIES = ["DE", "FR", "US", "JP", "KW", "HU", "CL"];
const DECLINE_CODES = ["51", "51", "05", "61", "91", "54", "43"];
/** Texts from outside can be anything. */
export const SCRIPT_TEXT = `<script>alert("x")</script>`;
export const FORMULA_TEXT = "=1+1";

const NEXT_SENT = prepared(
  "test_sent",
  `select id, invoice_id as "invoiceId" from recovery_actions
   where merchant_id = $1 and status = 'SENT' and type = 'RETRY' and ideal_retry_time <= $2 order by id`,
);
const NEXT_DUE = prepared(
  "test_next_due",
  "select min(due_at) as due from deliveries where merchant_id = $1 and due_at > $2 and due_at <= $3",
);

/** Creates a clock that the test moves; real time moves with it. */
export function createStoryClock() {
  let nowMs = START_MS;
  let ids = 0;
  const ports: Ports = {
    now: () => new Date(nowMs),
    realNow: () => new Date(nowMs),
    monotonicMs: () => nowMs - START_MS,
    clockRate: 1,
    randomBytes,
    newId: () => uuidV7(new Date(nowMs), ids++ % 4096, randomBytes(8)),
  };
  const to = (ms: number) => {
    nowMs = ms;
  };
  return { ports, to, nowMs: () => nowMs };
}
export type StoryClock = ReturnType<typeof createStoryClock>;

/** Returns the same numbers for the same seed. */
function createRandom(seed: number) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Fills five weeks of a coffee club: failed invoices, retries, an outage of its endpoint, people and keys. */
export async function fillConsole(db: Database, clock: StoryClock): Promise<Merchant> {
  const { ports } = clock;
  const random = createRandom(7);
  const log = pino({ level: "silent" });
  const webhook = {
    webhookUrl: "https://billing.harbor.example/dunlin",
    credential: { auth: "bearer", secret: "harbor-token" },
  } as const;
  const merchant = await createMerchant(db, "Harbor Coffee Club", webhook, SECRET_KEYS, ports);
  await createPeople(db, merchant, ports);

  let isDown = false;
  const send: Send = async () =>
    isDown
      ? { outcome: "response", status: 503, retryAfter: null, text: "<h1>Service unavailable</h1>" }
      : { outcome: "response", status: 200, retryAfter: null, text: '{"success":true}' };
  const deliverer = createDeliverer({ db, ports, log, secretKeys: SECRET_KEYS, owner: ports.newId(), send });

  const invoices = new Map<string, Invoice>();
  async function bill(number: number) {
    const currency = CURRENCIES[Math.floor(random() * CURRENCIES.length)]!;
    const id = number === 5 ? SCRIPT_TEXT : number === 6 ? FORMULA_TEXT : `in_${1000 + number}`;
    const at = ports.now();
    const customer = `cus_${Math.floor(random() * 60)}`;
    const amount = AMOUNTS[currency] ?? 900 + Math.floor(random() * 90) * 100;
    const invoice: Invoice = {
      id,
      state: "UNPAID",
      customerId: customer,
      subscriptionId: `sub_${customer}`,
      amount,
      currency,
      createdAt: at,
      updatedAt: at,
    };
    invoices.set(id, invoice);
    await ingestInvoices(db, merchant, [[invoice]], ports, () => {});
    await charge(invoice, false, {});
  }
  const charge = (invoice: Invoice, isPaid: boolean, over: Partial<Transaction>) => {
    const at = ports.now();
    const pick = invoice.customerId.length + Number(invoice.customerId.slice(4));
    const transaction: Transaction = {
      id: `tx_${ports.newId()}`,
      state: isPaid ? "PAID" : "FAILED",
      invoiceId: invoice.id,
      amount: invoice.amount,
      currency: invoice.currency,
      createdAt: at,
      updatedAt: at,
      customerId: invoice.customerId,
      paymentMethodType: "card",
      cardBrand: pick % 2 ? "visa" : "mastercard",
      cardLast4: String(4000 + pick),
      cardCountry: COUNTRIES[pick % COUNTRIES.length],
      cardFingerprint: `fp_${invoice.customerId}`,
      ...(isPaid
        ? {}
        : {
            networkDeclineCode: DECLINE_CODES[pick % DECLINE_CODES.length],
            paymentGatewayErrorMessage: "Declined by the bank",
          }),
      ...over,
    };
    return ingestTransactions(db, merchant, [[transaction]], ports, () => {});
  };
  async function pay(invoice: Invoice, over: Partial<Transaction>) {
    await charge(invoice, true, over);
    const paid: Invoice = { ...invoice, state: "PAID", updatedAt: ports.now() };
    invoices.set(invoice.id, paid);
    await ingestInvoices(db, merchant, [[paid]], ports, () => {});
  }
  async function obey() {
    const { rows } = await db.run<{ id: string; invoiceId: string }>(NEXT_SENT, [merchant.id, ports.now()]);
    for (const { id, invoiceId } of rows) {
      const invoice = invoices.get(invoiceId)!;
      if (random() < 0.42) await pay(invoice, { recoveryActionId: id });
      else await charge(invoice, false, { recoveryActionId: id });
    }
  }
  const models = createModelCache({ db, ports, log, prior: readPretrainedModel() });
  async function settleCases() {
    while ((await processDueCases({ db, ports, log, onEvents() {}, onWithdrawn() {}, models })).processedCount > 0)
      clock.to(clock.nowMs() + 1);
  }
  async function settle() {
    await settleCases();
    await deliverer.deliverDue();
  }

  /** The endpoint is still down: an event is waiting, with its next attempt minutes ahead. */
  async function outage() {
    clock.to(clock.nowMs() + HOUR_MS);
    await bill(number++);
    await settle();
    for (let attempt = 0; attempt < 3; attempt++) {
      const { rows } = await db.run<{ due: Date | null }>(NEXT_DUE, [
        merchant.id,
        ports.now(),
        new Date(clock.nowMs() + HOUR_MS),
      ]);
      if (rows[0]?.due) clock.to(rows[0].due.getTime());
      await deliverer.deliverDue();
    }
  }

  let number = 0;
  for (let step = 0; step < (DAYS * 24 * HOUR_MS) / STEP_MS; step++) {
    const end = START_MS + (step + 1) * STEP_MS;
    const day = Math.floor((step * STEP_MS) / (24 * HOUR_MS));
    isDown = day === 25 || step === (DAYS * 24 * HOUR_MS) / STEP_MS - 1;
    if (step % 2 === 0 && day < DAYS - 1) await bill(number++);
    if (day === DAYS - 1 && step % 4 === 3) for (let more = 0; more < 3; more++) await bill(number++);
    await settle();
    for (;;) {
      const { rows } = await db.run<{ due: Date | null }>(NEXT_DUE, [
        merchant.id,
        ports.now(),
        new Date(end - HOUR_MS),
      ]);
      if (!rows[0]?.due || !isDown) break;
      clock.to(rows[0].due.getTime());
      await deliverer.deliverDue();
    }
    if (step < (DAYS * 24 * HOUR_MS) / STEP_MS - 1) clock.to(end);
    await obey();
    if (step % 9 === 0) {
      const other = [...invoices.values()].find(({ state }) => state === "UNPAID");
      if (other && random() < 0.5) await pay(other, { initiator: "CUSTOMER" });
    }
    await settle();
  }
  await outage();
  await deliverer.stop();
  await fillExperiments(db, merchant, ports, random);
  await fillHistory(db, merchant, ports);
  await fillEdgeCases(db, merchant, ports);
  // Steps count the cases that were ended by the last records.
  await settleCases();
  return merchant;
}

/** Fills an imported history with varied retries, so that a backtest has a result. */
async function fillHistory(db: Database, merchant: Merchant, ports: Ports) {
  const past = createVariedHistory(HISTORY_INVOICES, START_MS - 400 * 24 * HOUR_MS).map(
    ({ invoiceId, customerId, at, isPaid, amount }, n): Transaction => ({
      id: `past_tx_${n}`,
      state: isPaid ? "PAID" : "FAILED",
      invoiceId: `past_${invoiceId}`,
      customerId: `past_${customerId}`,
      amount,
      currency: "EUR",
      createdAt: at,
      updatedAt: at,
      paymentMethodType: "card",
      cardBrand: "visa",
      cardCountry: "DE",
      ...(isPaid ? {} : { networkDeclineCode: "51" }),
    }),
  );
  for (const batch of splitIntoBatches(past)) await ingestTransactions(db, merchant, [[...batch]], ports, () => {});
  const details = { rows: past.length, "known before": 0, file: "attempts-2025.csv" };
  await writeAuditEntry(
    db,
    merchant.id,
    COMMAND_LINE_ACTOR,
    { operation: "history.imported", object: "transactions", details },
    ports,
  );
  await requestBacktest(db, merchant.id, COMMAND_LINE_ACTOR, ports);
}

/** Creates a person for each role, and two keys. */
export async function createPeople(db: Database, merchant: Merchant, ports: Ports) {
  const password = await createPasswords(randomBytes, 4).hash(PASSWORD);
  for (const role of ROLES) {
    const email = `${role}@harbor.example`;
    const id = ports.newId();
    const name = { owner: "Olivia Tern", admin: "Adam Plover", developer: "Devi Sanderling", viewer: "Vic Curlew" }[
      role
    ];
    await insertPerson(db, {
      id,
      email,
      name,
      password,
      zone: "Europe/Berlin",
      theme: "system",
      createdAt: ports.now(),
    });
    await addMember(db, merchant.id, id, role, ports.now());
    const actor = { personId: id, name: email, address: "198.51.100.7" };
    await writeAuditEntry(
      db,
      merchant.id,
      actor,
      { operation: "member.joined", object: email, details: { role } },
      ports,
    );
  }
  const key = { merchantId: merchant.id, createdBy: "olivia@harbor.example" };
  await createApiKey(db, { ...key, permissions: PERMISSIONS, note: "billing system" }, ports);
  const expiresAt = new Date(START_MS + (DAYS + 4) * 24 * HOUR_MS);
  await createApiKey(db, { ...key, permissions: ["read:recovery_actions"], note: "finance report", expiresAt }, ports);
}
