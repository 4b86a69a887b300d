import pino from "pino";
import { Client } from "undici";
import { createLearner } from "../../src/learning/learn-due.ts";
import { prepared } from "../../src/postgres/database.ts";
import { readPretrainedModel } from "../../src/process/pretrained-model-file.ts";
import { readTreeCpuMs } from "../cpu-time.ts";
import { openPoster, postRequest } from "../https-posts.ts";
import { median } from "../measure-rounds.ts";
import type { Installation, Tenant } from "./installation.ts";
import { attemptRecord, invoiceRecord, type Payment } from "./records.ts";
import { type IdleCost, measureUnits, type UnitCost, untilDecided, untilDelivered } from "./usage.ts";

export const UNITS = {
  paidInvoice: "paid invoice ingested",
  unpaidInvoice: "unpaid invoice ingested (opens a case)",
  attempt: "payment attempt ingested",
  decision: "first decision, in batches of 100",
  loneDecision: "first decision, in batches of 1",
  delivery: "webhook delivered",
  step: "step after a delivery",
  outcome: "outcome pushed: an attempt, and half of them with a paid invoice",
  outcomeStep: "step after an outcome",
  learned: "outcome learned",
  listPage: "list page of 100 actions",
  consolePage: "console page",
} as const;
export type Unit = keyof typeof UNITS;
export type UnitCosts = Record<Unit, UnitCost>;

export interface RoundSize {
  paid: number;
  cases: number;
  smallBatches: number;
  pages: number;
}

const CONNECTIONS = 8;
const BATCH = 200;
/** Of which some have one case each. */
const MERCHANTS = 60;
const CONSOLE_PAGES = ["/overview", "/actions", "/invoices", "/analytics"];
const HOUR_MS = 3_600_000;

/** Sends requests over kept-alive connections. */
export async function openSender({ ports, ca }: Installation) {
  const posters = await Promise.all(Array.from({ length: CONNECTIONS }, () => openPoster(ports.api, ca)));
  const idle = [...posters];
  const waiting: ((poster: (typeof posters)[number]) => void)[] = [];
  return {
    /** Waits for a free connection. */
    async send(request: Buffer) {
      const poster = idle.pop() ?? (await new Promise<(typeof posters)[number]>((resolve) => waiting.push(resolve)));
      await poster.post(request);
      const next = waiting.shift();
      if (next) next(poster);
      else idle.push(poster);
    },
    async sendAll(requests: readonly Buffer[]) {
      const waiting = requests.values();
      const send = async (poster: (typeof posters)[number]) => {
        for (const request of waiting) await poster.post(request);
      };
      await Promise.all(posters.map(send));
    },
    close() {
      for (const poster of posters) poster.close();
    },
  };
}

/** One request per merchant and `batch` records. */
export function requestsOf<Item extends { tenant: Tenant }>(
  kind: "invoices" | "transactions",
  items: readonly Item[],
  record: (item: Item) => object,
  batch = BATCH,
): Buffer[] {
  const byTenant = Map.groupBy(items, ({ tenant }) => tenant);
  return [...byTenant].flatMap(([{ apiKey }, all]) =>
    Array.from({ length: Math.ceil(all.length / batch) }, (_, n) => {
      const records = all.slice(n * batch, (n + 1) * batch).map(record);
      return postRequest(`/ingest/v1/${kind}`, apiKey, JSON.stringify({ [kind]: records }));
    }),
  );
}

const ACTIONS = prepared(
  "capacity_actions",
  `select invoice_id as "invoiceId", id from recovery_actions where status = 'SENT' and merchant_id = any($1::uuid[])`,
);
const PAUSE = prepared(
  "capacity_pause",
  "update merchants set webhook_paused = $1, webhook_paused_at = null, webhook_paused_by = null",
);

/** Measures each unit once, one after another, with the processes that would disturb it stopped. */
export async function createRounds(installation: Installation, idle: IdleCost) {
  const { store, db, processes, facts } = installation;
  const tenants = await installation.createTenants(8);
  const small = await installation.createTenants(MERCHANTS);
  const cookie = await installation.signIn(tenants[0]!.merchant);
  const sender = await openSender(installation);
  const clients = {
    api: new Client(`https://127.0.0.1:${installation.ports.api}`, {
      connect: { ca: installation.ca },
      allowH2: false,
    }),
    console: new Client(`https://127.0.0.1:${installation.ports.console}`, {
      connect: { ca: installation.ca },
      allowH2: false,
    }),
  };
  const log = pino({ level: "silent" });
  const prior = readPretrainedModel(log);
  let serial = 0;
  const payments = (of: readonly Tenant[], count: number): Payment[] => {
    const nowMs = store.ports.now().getTime();
    return Array.from({ length: count }, (_, n) => ({ tenant: of[n % of.length]!, serial: ++serial, nowMs }));
  };
  const get = async (client: Client, path: string, headers: Record<string, string>) => {
    const { statusCode, body } = await client.request({ method: "GET", path, headers });
    await body.dump();
    if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`);
  };
  const ingest = (requests: readonly Buffer[], records: number) =>
    measureUnits(installation, ["api"], idle, async () => {
      await sender.sendAll(requests);
      return records;
    });
  const decide = (count: number) =>
    measureUnits(installation, ["decide"], idle, async () => {
      processes.decide.signal("SIGCONT");
      await untilDecided(installation);
      processes.decide.signal("SIGSTOP");
      return count;
    });
  const push = async (some: readonly Payment[]) => {
    const invoices = await ingest(
      requestsOf("invoices", some, (each) => invoiceRecord(each, "UNPAID")),
      some.length,
    );
    const attempts = await ingest(
      requestsOf("transactions", some, (each) => attemptRecord(each, 1)),
      some.length,
    );
    return { invoices, attempts };
  };

  async function measureOutcomes(failed: readonly Payment[]) {
    const ids = failed.map(({ tenant }) => tenant.merchant.id);
    const { rows } = await db.run<{ invoiceId: string; id: string }>(ACTIONS, [[...new Set(ids)]]);
    const actionIds = new Map(rows.map(({ invoiceId, id }) => [invoiceId, id]));
    const answered = failed.flatMap((payment) => {
      const actionId = actionIds.get(invoiceRecord(payment, "PAID").id);
      return actionId === undefined ? [] : [{ ...payment, actionId, isPaid: payment.serial % 2 === 0 }];
    });
    const requests = [
      ...requestsOf("transactions", answered, (each) => attemptRecord(each, 2, each)),
      ...requestsOf(
        "invoices",
        answered.filter(({ isPaid }) => isPaid),
        (each) => invoiceRecord(each, "PAID", 2_000),
      ),
    ];
    return { outcome: await ingest(requests, answered.length), count: answered.length };
  }

  /** In this process, an hour later: an outcome is learned ten minutes after it came. */
  async function measureLearning(): Promise<UnitCost & { count: number; seconds: number }> {
    const ports = { ...store.ports, now: () => new Date(store.ports.now().getTime() + HOUR_MS) };
    const learner = createLearner({ db: store.db, ports, log, prior: prior!, owner: ports.newId() });
    const before = { own: process.cpuUsage(), databaseMs: readTreeCpuMs(facts.postmaster), atMs: performance.now() };
    let count = 0;
    for (let learned = await learner.learnDue(); learned > 0; learned = await learner.learnDue()) count += learned;
    const { user, system } = process.cpuUsage(before.own);
    const seconds = (performance.now() - before.atMs) / 1_000;
    const databaseMs = readTreeCpuMs(facts.postmaster) - before.databaseMs - idle.databaseMs * seconds;
    await learner.release();
    const per = Math.max(1, count);
    return {
      count,
      seconds,
      serviceMs: (user + system) / 1_000 / per,
      databaseMs: databaseMs / per,
      walBytes: 0,
      diskBytes: 0,
    };
  }

  return {
    tenants,
    sender,
    payments,
    async measure({ paid, cases, smallBatches, pages }: RoundSize) {
      processes.decide.signal("SIGSTOP");
      await db.run(PAUSE, [true]);
      const paidOnes = payments(tenants, paid);
      const paidInvoice = await ingest(
        requestsOf("invoices", paidOnes, (each) => invoiceRecord(each, "PAID")),
        paid,
      );
      const failed = payments(tenants, cases);
      const pushed = await push(failed);
      const decision = await decide(cases);
      const failedSmall = payments(small.slice(0, smallBatches), smallBatches);
      await push(failedSmall);
      const loneDecision = await decide(smallBatches);
      const delivery = await measureUnits(installation, ["deliver"], idle, async () => {
        const [{ rows }] = await Promise.all([db.run<{ n: number }>(COUNT_WAITING), db.run(PAUSE, [false])]);
        await untilDelivered(installation, [...tenants, ...small]);
        return rows[0]!.n;
      });
      const step = await decide(delivery.count);
      const { outcome, count } = await measureOutcomes(failed);
      const outcomeStep = await decide(count);
      const learned = await measureLearning();
      const key = tenants[0]!.apiKey;
      const listPage = await measureUnits(installation, ["api"], idle, async () => {
        for (let n = 0; n < pages; n++)
          await get(clients.api, "/v1/recovery_actions", { authorization: `Bearer ${key}` });
        return pages;
      });
      const consolePage = await measureUnits(installation, ["console"], idle, async () => {
        for (let n = 0; n < pages; n++)
          await get(clients.console, CONSOLE_PAGES[n % CONSOLE_PAGES.length]!, { cookie });
        return pages;
      });
      processes.decide.signal("SIGCONT");
      return {
        ...{ paidInvoice, unpaidInvoice: pushed.invoices, attempt: pushed.attempts, decision, loneDecision, delivery },
        ...{ step, outcome, outcomeStep, learned, listPage, consolePage },
      };
    },
    async close() {
      sender.close();
      await Promise.all(Object.values(clients).map((client) => client.close()));
    },
  };
}

const COUNT_WAITING = prepared("capacity_count_waiting", "select count(*)::int as n from deliveries");

export function medianCosts(rounds: readonly UnitCosts[]): UnitCosts {
  const of = (unit: Unit, field: keyof UnitCost) => median(rounds.map((round) => round[unit][field]));
  return Object.fromEntries(
    (Object.keys(UNITS) as Unit[]).map((unit) => [
      unit,
      {
        serviceMs: of(unit, "serviceMs"),
        databaseMs: of(unit, "databaseMs"),
        walBytes: of(unit, "walBytes"),
        diskBytes: of(unit, "diskBytes"),
      },
    ]),
  ) as UnitCosts;
}
