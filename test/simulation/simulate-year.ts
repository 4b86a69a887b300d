import { createDemoMerchant } from "../../simulator/merchant/demo-merchant.ts";
import type { Summary } from "../../simulator/merchant/demo-summary.ts";
import { type Engine, MERCHANT_DEFAULTS, type Merchant } from "../../src/domain/merchant.ts";
import type { Ports } from "../../src/domain/ports.ts";
import { type Address, openDatabase, prepared } from "../../src/postgres/database.ts";
import { insertMerchant } from "../../src/tables/merchants.ts";
import { seal } from "../../src/tables/secret-box.ts";
import { numberedId } from "../numbered-id.ts";
import { createBillingDesk } from "./actors/billing-desk.ts";
import { createPusher } from "./actors/pusher.ts";
import { createSimulatedEndpoint } from "./actors/simulated-endpoint.ts";
import { type SimulatedService, startSimulatedService } from "./actors/simulated-service.ts";
import { createDatabaseWatch } from "./database-watch.ts";
import { createJournal, type Journal, recordViolation } from "./journal.ts";
import { createCrashingActorDatabase } from "./stage/crashing-actor-database.ts";
import { createFaultPlan, createProcessLife, type FaultPlan } from "./stage/fault-plan.ts";
import { createObserver } from "./stage/observer.ts";
import { namedSequence } from "./stage/random-sequence.ts";
import { createStatementGate } from "./stage/statement-gate.ts";
import { createVirtualTime } from "./stage/virtual-time.ts";
import { readStoredState, type StoredState } from "./stored-state.ts";

export interface Scenario {
  seed: number;
  customers: number;
  days: number;
  pushTransactions: boolean;
  engine: Engine;
}

/** All evidence of a finished year. */
export interface SimulatedYear {
  scenario: Scenario;
  journal: Journal;
  books: StoredState;
  summary: Summary;
  faults: FaultPlan["counts"];
  statements: number;
  realMs: number;
}

const START = new Date("2026-01-05T06:00:00.000Z");
const DAY_MS = 86_400_000;
const SECRET_KEYS = [Buffer.alloc(32, 5)];
/** After the last invoice: by then every window is over, and every outcome has arrived. */
const SETTLEMENT_DAYS = 50;
const ANALYZE_MS = 20 * DAY_MS;
const OBSERVE_MS = 6 * 3_600_000;
/** Acts as a person who sees that Dunlin paused the endpoint although it answers again. */
const RESUME_PAUSED = `update merchants set webhook_paused = false, webhook_paused_at = null, webhook_paused_by = null, webhook_failing_since = null
  where webhook_paused_by = 'dunlin' and webhook_paused_at < $1`;

const BLOCKED = prepared(
  "count_blocked",
  "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
);
const DELIVERERS = prepared(
  "count_deliverers_left",
  "select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'dunlin deliverer'",
);

/** Simulates a year of a merchant with Dunlin under all kinds of faults, then a quiet period in which everything must settle. */
export async function simulateYear(address: Address, scenario: Scenario): Promise<SimulatedYear> {
  const beganMs = performance.now();
  const { seed } = scenario;
  const startMs = START.getTime();
  const endMs = startMs + scenario.days * DAY_MS;
  const db = openDatabase(address, 6, () => {});
  const outside = openDatabase(address, 3, () => {});
  const time = createVirtualTime(startMs);
  const gate = createStatementGate({
    time,
    draw: namedSequence(seed, "gate"),
    countBlocked: async () => (await outside.run<{ n: number }>(BLOCKED)).rows[0]!.n,
  });
  const observe = createObserver(outside, gate);
  const ports = virtualPorts(seed, time.nowMs);
  const merchant = merchantOf(seed, scenario);
  await insertMerchant(outside, merchant);
  const journal = createJournal();
  const watch = createDatabaseWatch(observe, merchant, journal, time.nowMs);
  const plan = createFaultPlan(namedSequence(seed, "faults"), time);
  const world = createDemoMerchant({
    seed,
    customers: scenario.customers,
    startAt: START,
    pushTransactions: scenario.pushTransactions,
  });
  const endpoint = createSimulatedEndpoint({
    seed,
    time,
    merchant: world,
    journal,
    startMs,
    days: scenario.days,
    onRequest: watch.onRequest,
    onReceived: () => desk.wake(),
  });
  let service: SimulatedService | null = null;
  const pusher = createPusher({
    draw: namedSequence(seed, "pusher"),
    entrance: () => service?.entrance ?? null,
    merchant,
    ports,
    journal,
    observe,
    onAcknowledged: watch.onAcknowledged,
    onIngested: () => service?.wakeDecide(),
  });
  const desk = createBillingDesk({
    ...scenario,
    draw: namedSequence(seed, "desk"),
    time,
    merchant: world,
    pusher,
    journal,
  });
  let isOver = false;
  let isYearOver = false;

  /** Runs one life after the other. */
  async function live() {
    for (let number = 1; !isOver; number++) {
      const life = createProcessLife(number);
      const running = startSimulatedService({
        life,
        databaseFor: (actor) => createCrashingActorDatabase({ db, gate, plan, life, actor, connectionsEnded }),
        ports,
        time,
        observe,
        secretKeys: SECRET_KEYS,
        send: endpoint.sendFor(life),
        faults: () => plan.counts.crashes + plan.counts.outages + plan.counts.conflicts,
        onDecided: watch.onDecided,
      });
      service = running;
      stopNow = life.die;
      await life.died;
      service = null;
      const goOn = gate.holdTime();
      await running.bury();
      await connectionsEnded();
      goOn();
      if (!isOver) {
        await watch.onRestart();
        // The crash may have come right after the commit of a step.
        await watch.onDecided();
      }
      await time.sleep(2_000);
    }
  }
  let stopNow = () => {};

  /** The server notices closed connections a little later. */
  async function connectionsEnded() {
    while ((await outside.run<{ n: number }>(DELIVERERS)).rows[0]!.n > 0) await new Promise((go) => setTimeout(go, 1));
  }

  /** With few events, all of three days can fail by chance. */
  async function resumeNextDay() {
    while (!isYearOver) {
      await time.sleep(OBSERVE_MS);
      await observe(RESUME_PAUSED, [new Date(time.nowMs() - DAY_MS)]);
    }
    await observe(RESUME_PAUSED, [time.now()]);
  }

  async function watchTheYear() {
    // A virtual month passes before the server would analyze its growing tables.
    for (let atMs = startMs; atMs < endMs; atMs += ANALYZE_MS) {
      await time.sleepUntil(Math.min(endMs, atMs + ANALYZE_MS)).over;
      await observe("analyze");
    }
    const summary = world.summary();
    isYearOver = true;
    plan.stop();
    endpoint.heal();
    desk.close();
    for (let waitedMs = 0; waitedMs < SETTLEMENT_DAYS * DAY_MS; waitedMs += OBSERVE_MS) {
      await time.sleep(OBSERVE_MS);
      const [left] = await observe<{ n: number }>(
        `select (select count(*) from due_cases) + (select count(*) from case_pokes) + (select count(*) from deliveries) as n`,
      );
      if (left!.n === 0) break;
    }
    isOver = true;
    stopNow();
    return summary;
  }

  try {
    const failed = Promise.withResolvers<never>();
    let finished: Summary | null = null;
    void desk.run(() => isOver).catch(failed.reject);
    void live().catch(failed.reject);
    void resumeNextDay().catch(failed.reject);
    const year = watchTheYear().then((summary) => {
      finished = summary;
    }, failed.reject);
    await Promise.race([gate.drive(() => finished !== null), failed.promise]);
    await year;
    // Operations in flight end in real time.
    await new Promise((go) => setTimeout(go, 50));
    const books = await readStoredState(outside, merchant.id);
    if (journal.wire.length === 0) recordViolation(journal, "run", "nothing was ever sent");
    return {
      scenario,
      journal,
      books,
      summary: finished!,
      faults: plan.counts,
      statements: gate.passed(),
      realMs: performance.now() - beganMs,
    };
  } finally {
    await db.close();
    await outside.close();
  }
}

function virtualPorts(seed: number, nowMs: () => number): Ports {
  const draw = namedSequence(seed, "ids");
  let ids = 0;
  const randomBytes = (size: number) => Buffer.from(Array.from({ length: size }, () => Math.floor(draw() * 256)));
  return {
    now: () => new Date(nowMs()),
    realNow: () => new Date(nowMs()),
    monotonicMs: () => nowMs() - START.getTime(),
    clockRate: 1,
    randomBytes,
    newId: () => numberedId(nowMs(), ++ids),
  };
}

function merchantOf(seed: number, { pushTransactions, engine }: Scenario): Merchant {
  return {
    ...MERCHANT_DEFAULTS,
    explore: true,
    id: numberedId(START.getTime(), seed),
    name: `merchant of seed ${seed}`,
    // The lowest bucket is kept even while a connection of a former life still counts as another process.
    bucket: 0,
    webhookUrl: "https://merchant.example/dunlin",
    webhookAuth: "bearer",
    webhookCredential: seal(SECRET_KEYS, Buffer.alloc(12, 1), "simulated"),
    webhookSubPaths: !pushTransactions,
    engine,
    createdAt: START,
  };
}
