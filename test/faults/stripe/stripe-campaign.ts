import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type Stripe from "stripe";
import { formatRecovered, noteFailure, outcomesOf, runBaseline } from "../../../connectors/stripe/double/baseline.ts";
import { keyedRandom } from "../../../simulator/world/keyed-random.ts";
import { type Database, openDatabase, prepared } from "../../../src/postgres/database.ts";
import { findFreePort } from "../../free-port.ts";
import { startMailServer } from "../../mail-server.ts";
import {
  type CampaignOptions,
  type CampaignResult,
  type CampaignStage,
  drawFaults,
  runCampaign,
} from "../harness/campaign.ts";
import { openPostgresProcesses } from "../harness/postgres-processes.ts";
import {
  createEnvironment,
  createMerchantByCommand,
  createServiceFleet,
  runDunlin,
  type ServiceFleet,
} from "../harness/service-fleet.ts";
import { readAnchor } from "../harness/stored-rows.ts";
import { formatComplaints, formatLog, formatRow } from "../harness/summary.ts";
import { type SimulatedAccount, STRIPE_KEY, startSimulatedAccount } from "./stripe-account.ts";
import { verifyCharges } from "./verify-charges.ts";

export interface StripeCampaignOptions extends CampaignOptions {
  customers: number;
  /** Days of service time with billing. */
  days: number;
  /** Real time that they take. */
  seconds: number;
  /** How long Dunlin recovers an invoice. */
  windowDays: number;
  kills: number;
  /** Requests per real second that the account allows. */
  perSecond: number;
}

const FAULT_SHARES = { connector: 4, "connector at a charge": 4, service: 3, account: 4 };
type Fault = keyof typeof FAULT_SHARES;
const WEBHOOK_FAULTS = { lost: 0.1, doubled: 0.1, late: 0.2, delaySeconds: 6 * 3_600 };
const NO_WEBHOOK_FAULTS = { lost: 0, doubled: 0, late: 0, delaySeconds: 0 };
const CHARGE_WAIT_MS = 5_000;
/** Longer than a claim of an event by a process that died. */
const SETTLE_MS = 360_000;
/** Retries of the slower side have ended by then. */
const MATURE_DAYS = 30;
/** The bound for knowing a payment, without the time in which a part was dead. */
const KNOWN_MS_MAX = 600_000;

/** A billing account with customers for some days, the connector and the service as processes, and kills of each. */
export const runStripeCampaign = (options: StripeCampaignOptions): Promise<CampaignResult> =>
  runCampaign(options, (stage) => runStage(options, stage));

async function runStage(options: StripeCampaignOptions, stage: CampaignStage): Promise<string[]> {
  const { seed, customers, days, seconds, kills, print } = options;
  const { root, ends, broken } = stage;
  const rate = Math.round((days * 86_400) / seconds);
  print(
    `seed ${seed}, ${customers} customers, ${days} days in ${seconds} s (service time ${rate} times as fast), ${kills} kills`,
  );
  const dataDir = join(root, "data");
  const postgres = openPostgresProcesses(dataDir);
  ends.push(() => postgres.aim(true).fire());
  const mails = await startMailServer({});
  ends.push(mails.stop);
  const [port, connectPort] = [await findFreePort(), await findFreePort()];
  const env = createEnvironment({
    ...{ DUNLIN_DATA: dataDir, DUNLIN_HOST: "127.0.0.1", DUNLIN_PORT: String(port) },
    ...{ DUNLIN_BASE_URL: `https://127.0.0.1:${port}`, DUNLIN_CLOCK_RATE: String(rate) },
    ...{ DUNLIN_SMTP_URL: `smtp://localhost:${mails.port}`, DUNLIN_MAIL_FROM: "billing@shop.example" },
  });
  const service = createServiceFleet({ environment: () => env, onEnd: (_process, how) => broken("S6", how) });
  ends.push(service.abandon);
  await service.start();
  const limits = [
    ...["--rate-per-second", "2000", "--rate-burst", "2000"],
    ...["--window-days", String(options.windowDays)],
  ];
  const { merchantId } = await createMerchantByCommand(env, "Harbor Coffee", limits);
  const db = openDatabase(postgres.address(), 1, () => {});
  ends.push(() => void db.close().catch(() => {}));
  const anchor = await readAnchor(db);
  const now = () => new Date(anchor.serviceAt + (Date.now() - anchor.realAt) * rate);

  const account = await startSimulatedAccount({
    ...{ seed, customers, now, perSecond: options.perSecond },
    webhooks: {
      url: `https://127.0.0.1:${connectPort}/stripe`,
      ca: readFileSync(join(dataDir, "tls", "ca.pem"), "utf8"),
      secret: "whsec_first",
      faults: kills > 0 ? WEBHOOK_FAULTS : NO_WEBHOOK_FAULTS,
    },
  });
  ends.push(account.double.close);
  const file = (name: string, text: string) => {
    writeFileSync(join(root, name), text, { mode: 0o600 });
    return join(root, name);
  };
  const secretFile = file("webhook-secret", "whsec_first");
  const words = [
    ...["connect", "stripe", "--merchant", merchantId, "--stripe-key-file", file("stripe-key", STRIPE_KEY)],
    ...["--stripe-url", account.double.url, "--webhook-secret-file", secretFile, "--port", String(connectPort)],
    ...["--calls-per-second", String(Math.ceil(options.perSecond * 1.3)), "--messages", "on"],
    ...["--public-url", "https://pay.shop.example", "--months", "3"],
  ];
  const connector = createServiceFleet({
    ...{ environment: () => env, words, readyLine: "Connected to Stripe" },
    onEnd: (_process, how) => broken("S6", how),
  });
  ends.push(connector.abandon);
  await connector.start();
  for (const [command, ...rest] of [
    ["merchant", "set", merchantId, "--shadow", "no"],
    ["experiment", "start", "--merchant", merchantId, "--name", "Dunlin or Stripe", "--share", "90"],
  ] as const) {
    const { code, text } = await runDunlin(env, [command, ...rest]);
    if (code !== 0) throw new Error(`dunlin ${command} ended with ${code}: ${text}`);
  }

  const startAt = now();
  const endAt = new Date(startAt.getTime() + days * 86_400_000);
  const failedAt = new Map<string, Date>();
  const knowledge = followKnowledge(db, merchantId);
  account.double.observe((event) => {
    noteFailure(failedAt, event, event.created * 1_000);
    if (event.type === "invoice.paid") knowledge.paid((event.data.object as Stripe.Invoice).id!);
  });
  const running = keepRunning(account, mails, knowledge);
  const faults = await injectFaults({ ...options, account, connector, service, secretFile, now, endAt, knowledge });
  while (now() < endAt) await sleep(200);

  const frozenAt = account.freeze();
  print("billing has stopped; recoveries end");
  await waitUntilSettled(db, merchantId, knowledge, broken);
  await running.stop();
  if (knowledge.worstMs() > KNOWN_MS_MAX) broken("S3", `a payment was unknown for ${knowledge.worstMs()} ms`);
  const counts = await verifyCharges(account, db, merchantId, broken);
  const experiment = await runDunlin(env, ["experiment", "show", "--merchant", merchantId]);
  const dunlinArm = await listDunlinArm(db, merchantId, account);
  const ours = new Map(
    [...outcomesOf(account.double.account, failedAt, frozenAt, MATURE_DAYS)].filter(([key]) =>
      dunlinArm.has(key.split(" ")[0]!),
    ),
  );
  const baseline = runBaseline({ seed, customers }, account.startAt, frozenAt, MATURE_DAYS);
  await connector.running()[0]?.terminate();
  await service.running()[0]?.terminate();
  return [
    "",
    formatRow("kills", ...Object.entries(faults).map(([name, count]): [number, string] => [count, name])),
    formatRow("invoices", [counts.invoices, "all"], [counts.paid, "paid"], [failedAt.size, "failed at first"]),
    formatRow(
      "charges",
      [counts.charges, "all"],
      [counts.byAccount, "by the account"],
      [counts.byRequest, "by Dunlin"],
      [counts.byCustomer, "by customers"],
    ),
    formatRow("mails", [mails.mails.length, "to customers"]),
    formatRow(
      "calls",
      [[...account.double.requests.values()].reduce((sum, each) => sum + each, 0), "answered"],
      [account.double.refusals(), "refused as too many"],
    ),
    `  most      ${[...account.double.requests]
      .toSorted((a, b) => b[1] - a[1])
      .slice(0, 6)
      .map(([name, count]) => `${count} ${name}`)
      .join(", ")}`,
    `  known     ${knowledge.count()} payments after ${knowledge.medianMs()} ms (median), at most ${knowledge.worstMs()} ms, in real time and with all downtime`,
    ...formatRecovered(ours, new Map([...baseline].filter(([key]) => dunlinArm.has(key.split(" ")[0]!)))),
    ...experiment.out.split("\n").map((line) => `  ${line}`),
    formatLog([...service.lines, ...connector.lines]),
    ...(stage.problems.length > 0 ? formatProblems(connector.lines) : []),
    ...(stage.problems.length > 0 ? formatComplaints([...service.lines, ...connector.lines]) : []),
  ];
}

/** The connector's warnings, the most frequent first. */
function formatProblems(lines: ServiceFleet["lines"]): string[] {
  const problems = lines.flatMap(({ text }) => /"problem":"([^"]*)/.exec(text)?.[1] ?? []);
  const words = problems.map((problem) => problem.replaceAll(/\b(in|ch|py|cus|sub|evt)_\w+/g, "$1_…").slice(0, 160));
  const counts = [...Map.groupBy(words, (each) => each)].map(([each, { length }]) => [each, length] as const);
  const most = counts.toSorted((one, other) => other[1] - one[1]).slice(0, 12);
  return most.map(([each, count]) => `  ${String(count).padStart(6)} ${each}`);
}

/** Lets the account work and the customers read their mails. */
function keepRunning(
  { double, shop }: SimulatedAccount,
  { mails }: Awaited<ReturnType<typeof startMailServer>>,
  knowledge: Knowledge,
) {
  let isStopped = false;
  let read = 0;
  let rounds = 0;
  const loop = (async () => {
    while (!isStopped) {
      double.account.runDue();
      for (; read < mails.length; read++) {
        // The address of the hosted page ends with the invoice's id; mails are encoded line by line.
        const [, invoiceId] = /\/(in_[0-9A-Za-z]+)/.exec(mails[read]!.text.replaceAll("=\r\n", "")) ?? [];
        if (invoiceId !== undefined) shop.mail(invoiceId);
      }
      if (++rounds % 20 === 0) await knowledge.look().catch(() => {});
      await sleep(20);
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await loop;
    },
  };
}

interface Knowledge {
  paid(invoiceId: string): void;
  look(): Promise<void>;
  pending(): number;
  count(): number;
  medianMs(): number;
  worstMs(): number;
}

const PAID = prepared(
  "stripe_campaign_paid",
  "select id from invoices where merchant_id = $1 and id = any($2::text[]) and state = 'PAID'",
);

/** Measures how long after a payment Dunlin knows the invoice as paid. */
function followKnowledge(db: Database, merchantId: string): Knowledge {
  const pending = new Map<string, number>();
  const lasted: number[] = [];
  return {
    paid: (invoiceId) => void pending.set(invoiceId, Date.now()),
    async look() {
      if (pending.size === 0) return;
      const { rows } = await db.run<{ id: string }>(PAID, [merchantId, [...pending.keys()]]);
      for (const { id } of rows) {
        lasted.push(Date.now() - pending.get(id)!);
        pending.delete(id);
      }
    },
    pending: () => pending.size,
    count: () => lasted.length,
    medianMs: () => lasted.toSorted((a, b) => a - b)[lasted.length >> 1] ?? 0,
    worstMs: () => Math.max(0, ...lasted),
  };
}

interface Injecting extends StripeCampaignOptions {
  account: SimulatedAccount;
  connector: ServiceFleet;
  service: ServiceFleet;
  secretFile: string;
  now(): Date;
  endAt: Date;
  knowledge: Knowledge;
}

async function injectFaults(injecting: Injecting): Promise<Record<Fault, number>> {
  const { seed, kills, print, account, connector, service, secretFile, now, endAt } = injecting;
  const done: Record<Fault, number> = { connector: 0, "connector at a charge": 0, service: 0, account: 0 };
  const faults = drawFaults<Fault>(seed, kills, FAULT_SHARES, "connector");
  const began = now().getTime();
  const spanMs = endAt.getTime() - began;
  for (const [index, fault] of faults.entries()) {
    const at = began + (spanMs * (index + keyedRandom(seed, "moment", index))) / kills;
    while (now().getTime() < at) await sleep(10);
    if (index === Math.floor(kills / 3)) {
      // Nobody tells the connector before its next start: webhooks are refused until then.
      account.endpoint.secret = "whsec_second";
      print("the webhook secret was rotated");
    }
    if (fault === "account") {
      account.double.setDown(true);
      await sleep(200 + 1_800 * keyedRandom(seed, "down", index));
      account.double.setDown(false);
    } else if (fault === "service") {
      await service.running()[0]!.kill();
      await service.start();
    } else {
      if (fault === "connector at a charge") await meetCharge(account, connector);
      else await connector.running()[0]!.kill();
      if (index > kills / 3) writeFileSync(secretFile, "whsec_first\nwhsec_second");
      await connector.start();
    }
    done[fault]++;
    if ((index + 1) % 10 === 0)
      print(`${index + 1} of ${kills} kills, ${injecting.knowledge.pending()} payments not known yet`);
  }
  return done;
}

/** Kills the connector when a charge was made and before it is answered. */
async function meetCharge({ double }: SimulatedAccount, connector: ServiceFleet) {
  const met = Promise.withResolvers<void>();
  double.onAnswer((route) => {
    if (route !== "POST /v1/invoices/:id/pay") return false;
    met.resolve();
    return true;
  });
  const process = connector.running()[0]!;
  await Promise.race([met.promise, sleep(CHARGE_WAIT_MS)]);
  await process.kill();
  double.onAnswer(null);
}

const LEFT = prepared(
  "stripe_campaign_left",
  `select
     (select count(*)::int4 from cases where merchant_id = $1 and ended_at is null and arm = 'dunlin') as cases,
     (select count(*)::int4 from deliveries where merchant_id = $1) as deliveries,
     (select count(*)::int4 from connector_hints where merchant_id = $1) as hints,
     (select count(*)::int4 from connector_actions where merchant_id = $1 and ended_at is null) as actions,
     (select count(*)::int4 from connector_events where merchant_id = $1 and due_at is not null) as events,
     (select count(*)::int4 from connector_invoices where merchant_id = $1 and released_at is null) as owned`,
);

const LEFT_EVENTS = prepared(
  "stripe_campaign_left_events",
  `select event->>'type' as type, tries, due_at, problem, invoice_id from connector_events
   where merchant_id = $1 and due_at is not null order by tries desc limit 3`,
);

async function waitUntilSettled(
  db: Database,
  merchantId: string,
  knowledge: Knowledge,
  broken: CampaignStage["broken"],
) {
  for (const until = Date.now() + SETTLE_MS; ; await sleep(500)) {
    const left = (await db.run<Record<string, number>>(LEFT, [merchantId])).rows[0]!;
    const pending = knowledge.pending();
    if (Object.values(left).every((count) => count === 0) && pending === 0) return;
    if (Date.now() < until) continue;
    const events = (await db.run(LEFT_EVENTS, [merchantId])).rows;
    return broken(
      "S7",
      `not at rest ${SETTLE_MS} ms after billing stopped: ${JSON.stringify({ ...left, pending, events })}`,
    );
  }
}

const ARMS = prepared(
  "stripe_campaign_arms",
  `select distinct customer_id as id from cases where merchant_id = $1 and arm = 'dunlin'`,
);

/** The numbers of customers in Dunlin's arm. */
async function listDunlinArm(db: Database, merchantId: string, { double }: SimulatedAccount): Promise<Set<string>> {
  const { rows } = await db.run<{ id: string }>(ARMS, [merchantId]);
  return new Set(rows.map(({ id }) => double.account.get<Stripe.Customer>("customer", id).metadata!.number!));
}
