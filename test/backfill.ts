// `npm run proof -- backfill`: a Stripe account with 200,000 invoices is read under its rate limit. The connector is killed on the way;
// afterwards every invoice and every charge is there once, and its memory did not grow.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type Stripe from "stripe";
import { startStripeDouble } from "../connectors/stripe/double/double-server.ts";
import {
  makeCharge,
  makeCustomer,
  makeInvoice,
  makeInvoicePayment,
  makePaymentIntent,
  makePaymentMethod,
  makePrice,
  makeSubscription,
} from "../connectors/stripe/double/objects.ts";
import { declineFacts } from "../connectors/stripe/double/world-bank.ts";
import { API_VERSION } from "../connectors/stripe/stripe-account.ts";
import { openDatabase, prepared } from "../src/postgres/database.ts";
import { runCampaign } from "./faults/harness/campaign.ts";
import { endWith, parseCount, parseSeed } from "./faults/harness/command-line.ts";
import { openPostgresProcesses } from "./faults/harness/postgres-processes.ts";
import { createEnvironment, createMerchantByCommand, createServiceFleet } from "./faults/harness/service-fleet.ts";
import { findFreePort } from "./free-port.ts";

const { values } = parseArgs({
  options: { invoices: { type: "string" }, calls: { type: "string" }, kills: { type: "string" } },
});
const count = parseCount("invoices", values.invoices, 200_000, 100);
const calls = parseCount("calls", values.calls, 80, 1);
const kills = parseCount("kills", values.kills, 3);
const print = (line: string) => console.log(line);

const INVOICES_PER_SUBSCRIPTION = 12;
const DAYS = 390;
const DAY_S = 86_400;
/** Every tenth invoice was declined once, and every hundredth is still open. */
const [DECLINED_EACH, OPEN_EACH] = [10, 100];
const KEY = "rk_test_backfill";

const COUNTS = prepared(
  "backfill_counts",
  `select (select count(*)::int4 from invoices where merchant_id = $1) as invoices,
     (select count(*)::int4 from invoices where merchant_id = $1 and state = 'UNPAID') as open,
     (select count(*)::int4 from transactions where merchant_id = $1) as transactions,
     (select count(*)::int4 from subscriptions where merchant_id = $1) as subscriptions,
     (select value from connector_cursors where merchant_id = $1 and name = 'backfill') as backfill,
     (select count(*)::int4 from connector_hints where merchant_id = $1) as hints,
     (select count(*)::int4 from connector_payments where merchant_id = $1) as payments`,
);
interface Counts {
  invoices: number;
  open: number;
  transactions: number;
  subscriptions: number;
  backfill: string | null;
  hints: number;
  payments: number;
}

const residentMb = (pid: number) =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024);

endWith(
  await runCampaign({ seed: parseSeed("1"), print }, async ({ root, ends, broken }) => {
    const [port, connectPort] = [await findFreePort(), await findFreePort()];
    const dataDir = join(root, "data");
    const postgres = openPostgresProcesses(dataDir);
    ends.push(() => postgres.aim(true).fire());
    const env = createEnvironment({
      ...{ DUNLIN_DATA: dataDir, DUNLIN_HOST: "127.0.0.1", DUNLIN_PORT: String(port) },
      DUNLIN_BASE_URL: `https://127.0.0.1:${port}`,
    });
    const onEnd = (_process: unknown, how: string) => broken("the processes", how);
    const service = createServiceFleet({ environment: () => env, onEnd });
    ends.push(service.abandon);
    await service.start();
    const limits = ["--rate-per-second", "1000", "--rate-burst", "1000"];
    const { merchantId } = await createMerchantByCommand(env, "History", limits);
    const db = openDatabase(postgres.address(), 1, () => {});
    ends.push(() => void db.close().catch(() => {}));
    const double = await startStripeDouble({
      ...{ now: () => new Date(), apiVersion: API_VERSION, askBank: () => ({ kind: "approved" }) },
      ...{ keys: [{ secret: KEY, scopes: null }], monotonicMs: () => performance.now(), perSecond: calls * 1.25 },
    });
    ends.push(double.close);
    const made = fill(double.account);
    print(
      `${count} invoices, ${made.charges} charges, ${made.subscriptions} subscriptions, at most ${calls} calls per second`,
    );
    writeFileSync(join(root, "key"), KEY, { mode: 0o600 });
    const connector = createServiceFleet({
      ...{ environment: () => env, readyLine: "Connected to Stripe", onEnd },
      words: [
        ...["connect", "stripe", "--merchant", merchantId, "--stripe-key-file", join(root, "key")],
        ...["--stripe-url", double.url, "--port", String(connectPort), "--calls-per-second", String(calls)],
      ],
    });
    ends.push(connector.abandon);
    const read = async () => (await db.run<Counts>(COUNTS, [merchantId])).rows[0]!;
    const began = performance.now();
    await connector.start();
    const memory: number[] = [];
    let killed = 0;
    let shownAt = began;
    for (let now = await read(); ; await sleep(250), now = await read()) {
      const isRead = (JSON.parse(now.backfill ?? "{}") as { phase?: string }).phase === "done";
      if (isRead && now.hints === 0) break;
      if (performance.now() - shownAt > 10_000) {
        shownAt = performance.now();
        print(`  ${((shownAt - began) / 1_000).toFixed(0)} s: ${JSON.stringify(now)}`);
      }
      memory.push(residentMb(connector.running()[0]!.pid));
      const share = (now.invoices + now.transactions) / (count + made.charges);
      if (killed < kills && share > (killed + 1) / (kills + 1)) {
        killed++;
        await connector.running()[0]!.kill();
        await connector.start();
      }
    }
    const seconds = (performance.now() - began) / 1_000;
    const end = await read();
    const expected = {
      invoices: count,
      transactions: made.charges,
      subscriptions: made.subscriptions,
      open: made.open,
    };
    for (const [name, wanted] of Object.entries(expected))
      if (end[name as keyof Counts] !== wanted)
        broken("history", `${wanted} ${name} expected, ${end[name as keyof Counts]} stored`);
    if (end.payments !== 0) broken("history", `${end.payments} payments of the backfill are left`);
    const asked = [...double.requests.values()].reduce((sum, each) => sum + each, 0);
    const early = Math.max(...memory.slice(0, Math.ceil(memory.length / 4)));
    const last = Math.max(...memory.slice(-Math.ceil(memory.length / 4)));
    await connector.running()[0]!.terminate();
    await service.running()[0]!.terminate();
    return [
      "",
      `  time      ${seconds.toFixed(0)} s, ${(count / seconds).toFixed(0)} invoices/s, ${killed} kills`,
      `  calls     ${asked}, ${(asked / seconds).toFixed(1)}/s, ${double.refusals()} refused as too many`,
      `  memory    at most ${early} MB in the first quarter, ${last} MB in the last`,
      `  stored    ${JSON.stringify({ ...end, backfill: undefined })}`,
    ];
  }),
);

/** Fills the account with invoices of the last 13 months, oldest first. */
function fill(account: Awaited<ReturnType<typeof startStripeDouble>>["account"]) {
  const now = Math.floor(Date.now() / 1_000);
  const price = account.add(
    makePrice(account, { ...{ unitAmount: 4900, currency: "eur", interval: "month", intervalCount: 1, product: "p" } }),
  );
  const subscribers = Array.from({ length: Math.ceil(count / INVOICES_PER_SUBSCRIPTION) }, (_, number) => {
    const customer = account.add(makeCustomer(account, { email: `c${number}@shop.example` }));
    const card = {
      ...{ brand: "visa", country: "DE", expMonth: 12, expYear: 2033, fingerprint: `fp_${number}`, funding: "credit" },
      ...{ iin: "424242", issuer: "Bank", last4: "4242" },
    };
    const method = account.add(makePaymentMethod(account, customer.id, "card", card));
    customer.invoice_settings.default_payment_method = method.id;
    const start = now - DAYS * DAY_S;
    const subscription = account.add(makeSubscription(account, customer, price, { start, periodEnd: now }));
    return { customer, method, subscription };
  });
  let [charges, open] = [0, 0];
  const decline = declineFacts("insufficient_funds");
  for (let number = 0; number < count; number++) {
    const { customer, method, subscription } = subscribers[number % subscribers.length]!;
    const created = now - DAYS * DAY_S + Math.floor((number / count) * (DAYS - 1) * DAY_S);
    const facts = { amount: 4900, currency: "eur", billingReason: "subscription_cycle" as const };
    const invoice = makeInvoice(account, customer, subscription, {
      ...facts,
      periodStart: created,
      periodEnd: created,
    });
    const isOpen = number % OPEN_EACH === 0;
    Object.assign(invoice, { created, status: isOpen ? "open" : "paid", auto_advance: false, attempt_count: 1 });
    if (!isOpen) Object.assign(invoice, { amount_paid: 4900, amount_remaining: 0 });
    invoice.status_transitions.paid_at = isOpen ? null : created + 60;
    open += Number(isOpen);
    account.add(invoice);
    const intent = makePaymentIntent(account, invoice);
    account.add(makeInvoicePayment(account, invoice, intent.id));
    const charge = (status: "failed" | "succeeded", at: number) => {
      const options = { status, decline: status === "failed" ? decline : null, created: at };
      account.add(makeCharge(account, { ...intent, amount: 4900 } as Stripe.PaymentIntent, method, options));
      charges++;
    };
    if (isOpen || number % DECLINED_EACH === 5) charge("failed", created);
    if (!isOpen) charge("succeeded", created + 60);
  }
  return { charges, open, subscriptions: subscribers.length };
}
