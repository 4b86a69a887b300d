import { setTimeout as sleep } from "node:timers/promises";
import { prepared } from "../../src/postgres/database.ts";
import type { ServiceProcess } from "../../test/faults/harness/service-fleet.ts";
import { measureCpu, readSchedulerTimes } from "../cpu-time.ts";
import { median } from "../measure-rounds.ts";
import type { BenchProcess } from "../worker-process.ts";
import type { Installation, Tenant } from "./installation.ts";
import { type Arrival, poissonArrivals, predict, type QueueModel, quantile } from "./queue-model.ts";
import { attemptRecord, invoiceRecord, type Payment } from "./records.ts";
import type { UnitCosts } from "./sizing.ts";
import { type createRounds, openSender, requestsOf } from "./unit-costs.ts";
import { untilDecided, untilDelivered } from "./usage.ts";

const CORES = 2;
const CASES_PER_REQUEST = 10;
const COMMITS = 60;
/** As the service has them. */
const [MERCHANTS_AT_ONCE, BATCH_SIZE] = [4, 100];
const WEBHOOK_CAP = 20;
const EVENTS_PER_CASE = 2;
const LOOK_MS = 20;
/** The deliverer looks for changed settings every second. */
const REFRESH_MS = 2_500;
/** More than there are tasks. */
const UNSHARED = 1_000;
/** Of a delivery, until the first byte leaves, on an idle machine. */
const READ_MS = 3;

export interface Comparison {
  what: string;
  measured: Figures;
  predicted: Figures;
  /** Time over CPU time. */
  slowdown: number;
}

export interface Figures {
  perSecond: number;
  deciderBusy: number;
  databaseBusy: number;
  decisionP50: number;
  decisionP95: number;
  deliveryP50: number;
  deliveryP95: number;
}

type Rounds = Awaited<ReturnType<typeof createRounds>>;

/** Splits costs by two batch sizes into a part for the batch and one for each case. */
export function calibrate(
  costs: Pick<UnitCosts, "decision" | "loneDecision" | "step" | "delivery">,
  measured: { commitMs: number; lockedShare: number; receiverMs: number },
): QueueModel {
  const fixed = (field: "serviceMs" | "databaseMs") =>
    Math.max(0, (costs.loneDecision[field] - costs.decision[field]) / (1 - 1 / BATCH_SIZE));
  const batch = { serviceMs: fixed("serviceMs"), databaseMs: fixed("databaseMs") };
  const item = (unit: "decision" | "step") => ({
    serviceMs: Math.max(0, costs[unit].serviceMs - batch.serviceMs / BATCH_SIZE),
    databaseMs: Math.max(0, costs[unit].databaseMs - batch.databaseMs / BATCH_SIZE),
  });
  return {
    cores: CORES,
    slowdown: 1,
    deciders: 1,
    merchantsAtOnce: MERCHANTS_AT_ONCE,
    batchSize: BATCH_SIZE,
    round: { serviceMs: 0, databaseMs: 0 },
    steps: { first: { batch, item: item("decision") }, light: { batch, item: item("step") } },
    lockedShare: measured.lockedShare,
    commitMs: measured.commitMs,
    delivery: {
      processes: 1,
      cap: WEBHOOK_CAP,
      eventsPerCase: EVENTS_PER_CASE,
      serviceMs: costs.delivery.serviceMs,
      databaseMs: costs.delivery.databaseMs,
      receiverMs: measured.receiverMs,
      answerMs: 0,
      readMs: READ_MS,
    },
  };
}

const COMMIT = prepared("capacity_commit", "update merchants set name = name where id = $1");

export async function measureCommitMs({ db }: Installation, { merchant }: Tenant): Promise<number> {
  const taken: number[] = [];
  for (let n = 0; n < COMMITS; n++) {
    const beganMs = performance.now();
    await db.run(COMMIT, [merchant.id]);
    taken.push(performance.now() - beganMs);
  }
  return median(taken);
}

const WAITS = prepared(
  "capacity_waits",
  `select extract(epoch from pg_xact_commit_timestamp(d.xmin) - pg_xact_commit_timestamp(i.xmin))::float8 * 1000 as "decisionMs",
     (select extract(epoch from min(a.started_at) - pg_xact_commit_timestamp(d.xmin))::float8 * 1000
      from events e join delivery_attempts a on a.merchant_id = e.merchant_id and a.event_id = e.id
      where e.merchant_id = c.merchant_id and e.case_id = c.id) as "deliveryMs"
   from cases c
   join invoices i on i.merchant_id = c.merchant_id and i.id = c.invoice_id
   join decisions d on d.merchant_id = c.merchant_id and d.case_id = c.id and d.number = 1
   where c.merchant_id = any($1::uuid[]) and c.opened_at >= $2`,
);
const HELD = prepared(
  "capacity_held",
  `select count(*) filter (where granted and mode = 'RowExclusiveLock')::int as holders,
     (select count(*) from pg_stat_activity where wait_event_type = 'Lock')::int as waiting
   from pg_locks where relation = 'merchant_clocks'::regclass`,
);
const OWN_PID = prepared("capacity_own_pid", "select pg_backend_pid() as pid");
const PAUSE = prepared(
  "capacity_pause_some",
  "update merchants set webhook_paused = $1, webhook_paused_at = null, webhook_paused_by = null where id = any($2::uuid[])",
);

export function createComparer(
  installation: Installation,
  rounds: Rounds,
  receiver: BenchProcess,
  everyDecider: readonly ServiceProcess[],
  random: () => number,
) {
  const { db, facts, processes, store } = installation;
  const idsOf = (tenants: readonly Tenant[]) => tenants.map(({ merchant }) => merchant.id);
  const signal = (deciders: readonly { signal(signal: NodeJS.Signals): void }[], name: NodeJS.Signals) => {
    for (const decider of deciders) decider.signal(name);
  };
  const pause = (tenants: readonly Tenant[], isPaused: boolean) => db.run(PAUSE, [isPaused, idsOf(tenants)]);
  const unpause = async (tenants: readonly Tenant[]) => {
    await pause(tenants, false);
    await sleep(REFRESH_MS);
  };

  /** Their attempts are there before, so that each case's first step decides with all facts. */
  async function pushAttempts(some: readonly Payment[]) {
    await rounds.sender.sendAll(requestsOf("transactions", some, (each) => attemptRecord(each, 1)));
  }

  /**
   * How much longer the work took than its CPU, because its threads waited for a core: the deciders' main threads, and
   * PostgreSQL's processes without the one that measures. The model then needs no cores to share, because the threads' waits for
   * one another are in it, too.
   */
  async function measureSlowdown(deciders: readonly ServiceProcess[], work: () => Promise<unknown>): Promise<number> {
    const ownPid = await readOwnPid();
    const main = deciders.map(({ pid }) => `${pid}/task/${pid}`);
    const before = readSchedulerTimes([facts.postmaster, ...deciders.map(({ pid }) => pid)]);
    await work();
    let [ranNs, waitedNs] = [0, 0];
    for (const [thread, after] of readSchedulerTimes([facts.postmaster, ...deciders.map(({ pid }) => pid)])) {
      const [pid] = thread.split("/").map(Number);
      const isDecider = deciders.some((decider) => decider.pid === pid);
      if (pid === ownPid || (isDecider && !main.includes(thread))) continue;
      ranNs += after.ranNs - (before.get(thread)?.ranNs ?? 0);
      waitedNs += after.waitedNs - (before.get(thread)?.waitedNs ?? 0);
    }
    return (ranNs + waitedNs) / ranNs;
  }

  /** Kept apart, so that the connection that measures does not count for the database. */
  const readOwnPid = async () => (await db.run<{ pid: number }>(OWN_PID)).rows[0]!.pid;

  /** Many due cases at once: the limit. Paused tenants get no deliveries. */
  async function flood(
    what: string,
    tenants: readonly Tenant[],
    cases: number,
    deciders: readonly ServiceProcess[],
    model: QueueModel,
    delivers = false,
  ): Promise<Comparison & { lockedShare: number; lockWaits: number }> {
    signal(everyDecider, "SIGSTOP");
    if (delivers) await unpause(tenants);
    const some = rounds.payments(tenants, cases);
    await pushAttempts(some);
    await rounds.sender.sendAll(requestsOf("invoices", some, (each) => invoiceRecord(each, "UNPAID")));
    const pids: Record<string, number> = { PostgreSQL: facts.postmaster, measuring: await readOwnPid() };
    for (const [n, { pid }] of deciders.entries()) pids[`decider ${n}`] = pid;
    let [looks, held, waits] = [0, 0, 0];
    let isOver = false;
    let slowdown = 1;
    const decide = async () => {
      signal(deciders, "SIGCONT");
      await untilDecided(installation);
      if (delivers) await untilDelivered(installation, tenants);
      if (delivers) await untilDecided(installation);
      isOver = true;
    };
    const look = async () => {
      while (!isOver) {
        const { holders, waiting } = (await db.run<{ holders: number; waiting: number }>(HELD)).rows[0]!;
        looks++;
        held += holders > 0 ? 1 : 0;
        waits += waiting > 0 ? 1 : 0;
        await sleep(LOOK_MS);
      }
    };
    const beganMs = performance.now();
    const { cpuMs } = await measureCpu(pids, async () => {
      slowdown = await measureSlowdown(deciders, () => Promise.all([decide(), look()]));
    });
    const seconds = (performance.now() - beganMs) / 1_000;
    const deciderMs = Object.entries(cpuMs).reduce((sum, [name, ms]) => sum + (name.startsWith("decider") ? ms : 0), 0);
    const arrivals = tenants.map((_, merchant): Arrival => ({ atMs: 0, merchant, cases: cases / tenants.length }));
    const expected = predict(
      { ...model, cores: UNSHARED, slowdown, deciders: deciders.length, delivery: delivers ? model.delivery : null },
      arrivals,
      Number.MAX_SAFE_INTEGER,
    );
    if (delivers) await pause(tenants, true);
    const measured = {
      perSecond: cases / seconds,
      deciderBusy: deciderMs / seconds / 1_000,
      databaseBusy: cpuMs.PostgreSQL! / seconds / 1_000,
    };
    const predicted = {
      perSecond: (1_000 * cases) / expected.endMs,
      deciderBusy: expected.busy.deciders,
      databaseBusy: expected.busy.database,
    };
    return {
      what,
      measured: { ...NO_WAITS, ...measured },
      predicted: { ...NO_WAITS, ...predicted },
      slowdown,
      lockedShare: held / looks,
      lockWaits: waits / looks,
    };
  }

  /** A steady load with deliveries. `share`: of the limit. */
  async function steady(
    what: string,
    tenants: readonly Tenant[],
    casesPerSecond: number,
    seconds: number,
    model: QueueModel,
    ingestMs: number,
  ): Promise<Comparison> {
    const given = { casesPerSecond, casesPerRequest: CASES_PER_REQUEST, merchants: tenants.length, seconds };
    const arrivals = poissonArrivals(given, random);
    const requests = arrivals.map(({ merchant, cases }) => rounds.payments([tenants[merchant]!], cases));
    await pushAttempts(requests.flat());
    await untilDecided(installation);
    const bodies = requests.map((some) => requestsOf("invoices", some, (each) => invoiceRecord(each, "UNPAID"))[0]!);
    await unpause(tenants);
    const since = store.ports.now();
    const senders = await openSender(installation);
    const beganMs = performance.now();
    const pids = {
      decider: processes.decide.pid,
      PostgreSQL: facts.postmaster,
      api: processes.api.pid,
      receiver: receiver.pid,
      deliverer: processes.deliver.pid,
      measuring: await readOwnPid(),
    };
    let slowdown = 1;
    // On a busy machine the sender is late, too.
    const sentAt: Arrival[] = [];
    const sendAll = async () => {
      const sent: Promise<void>[] = [];
      for (const [n, body] of bodies.entries()) {
        const earlyMs = beganMs + arrivals[n]!.atMs - performance.now();
        if (earlyMs > 0) await sleep(earlyMs);
        sentAt.push({ ...arrivals[n]!, atMs: performance.now() - beganMs });
        sent.push(senders.send(body));
      }
      await Promise.all(sent);
    };
    const { result: lastedMs, cpuMs } = await measureCpu(pids, async () => {
      slowdown = await measureSlowdown([processes.decide], sendAll);
      return performance.now() - beganMs;
    });
    await untilDecided(installation);
    await untilDelivered(installation, tenants);
    senders.close();
    const { rows } = await db.run<{ decisionMs: number; deliveryMs: number | null }>(WAITS, [idsOf(tenants), since]);
    await pause(tenants, true);
    const cases = arrivals.length * CASES_PER_REQUEST;
    if (rows.length !== cases) throw new Error(`${rows.length} decisions of ${cases} cases`);
    const shared = { ...model, cores: UNSHARED, slowdown };
    const expected = predict(shared, sentAt, lastedMs);
    const waits = predict(shared, sentAt, Number.MAX_SAFE_INTEGER);
    const of = (
      values: readonly number[],
      busy: { deciders: number; database: number },
      delivered: readonly number[],
    ): Figures => ({
      perSecond: (1_000 * cases) / lastedMs,
      deciderBusy: busy.deciders,
      databaseBusy: busy.database,
      decisionP50: quantile(values, 0.5),
      decisionP95: quantile(values, 0.95),
      deliveryP50: quantile(delivered, 0.5),
      deliveryP95: quantile(delivered, 0.95),
    });
    const decisionMs = rows.map((row) => row.decisionMs);
    const deliveryMs = rows.flatMap((row) => row.deliveryMs ?? []);
    const busy = { deciders: cpuMs.decider! / lastedMs, database: cpuMs.PostgreSQL! / lastedMs };
    const predictedBusy = { ...expected.busy, database: expected.busy.database + (cases * ingestMs) / lastedMs };
    return {
      what,
      measured: of(decisionMs, busy, deliveryMs),
      predicted: of(waits.decisionWaitsMs, predictedBusy, waits.deliveryWaitsMs),
      slowdown,
    };
  }

  return { flood, steady };
}

const NO_WAITS = { decisionP50: Number.NaN, decisionP95: Number.NaN, deliveryP50: Number.NaN, deliveryP95: Number.NaN };

/** Of each figure. */
export function medianComparison(all: readonly Comparison[]): Comparison {
  const of = (side: "measured" | "predicted") =>
    Object.fromEntries(
      Object.keys(all[0]![side]).map((name) => [name, median(all.map((each) => each[side][name as keyof Figures]))]),
    ) as unknown as Figures;
  return {
    what: all[0]!.what,
    measured: of("measured"),
    predicted: of("predicted"),
    slowdown: median(all.map((each) => each.slowdown)),
  };
}
