import pino from "pino";
import { readPretrainedModel } from "../../../lab/trial/open-world.ts";
import { createDeliverer } from "../../../src/delivery/deliverer.ts";
import type { Send } from "../../../src/delivery/https/https-sender.ts";
import type { Ports } from "../../../src/domain/ports.ts";
import { createLearner } from "../../../src/learning/learn-due.ts";
import { createModelCache } from "../../../src/learning/model-cache.ts";
import type { Database } from "../../../src/postgres/database.ts";
import { processDueCases } from "../../../src/recovery/process-due-cases.ts";
import type { SecretKeys } from "../../../src/tables/secret-box.ts";
import type { ProcessLife } from "../stage/fault-plan.ts";
import type { Observe } from "../stage/observer.ts";
import type { VirtualTime } from "../stage/virtual-time.ts";

/** One life of the process: its loops, until it crashes or is stopped. */
export interface SimulatedService {
  /** The database for requests of merchants. */
  entrance: Database;
  wakeDecide(): void;
  /** Discards everything in memory. */
  bury(): Promise<void>;
}

interface Options {
  life: ProcessLife;
  databaseFor(actor: string): Database;
  ports: Ports;
  time: VirtualTime;
  observe: Observe;
  secretKeys: SecretKeys;
  send: Send;
  /** Returns the number of faults so far. */
  faults(): number;
  /** Called after a round of decisions was committed, or may have been, because the reply to a commit can get lost. */
  onDecided(): Promise<void>;
}

/** Due work that failed is tried again this much later, as the service's loops do. */
const IDLE_POLL_MS = 1_000;
const FAR_FUTURE_MS = 400 * 86_400_000;

export function startSimulatedService(options: Options): SimulatedService {
  const { life, databaseFor, ports, time, observe } = options;
  const log = pino({ level: "silent" });
  const deliverer = createDeliverer({
    db: databaseFor("deliver"),
    ports,
    log,
    send: options.send,
    secretKeys: options.secretKeys,
    owner: ports.newId(),
    sleep: time.sleep,
    onEnded: () => decide.wake(),
  });
  const decideDb = databaseFor("decide");
  const learnDb = databaseFor("learn");
  const prior = readPretrainedModel();
  const models = createModelCache({ db: decideDb, ports, log, prior });
  // Only operations that virtual time controls may take time.
  const pause = async () => {};
  const learner = createLearner({ db: learnDb, ports, log, prior, owner: ports.newId(), pause });

  // A fault in one round may have hidden its commit; then the next round reports it.
  let faultsTold = options.faults();
  const decide = loop(async () => {
    const { processedCount } = await processDueCases({
      db: decideDb,
      ports,
      log,
      onEvents: () => deliver.wake(),
      onWithdrawn: (merchantId, eventIds) => deliverer.dropWithdrawn(merchantId, eventIds),
      models,
      pause,
    });
    const faults = options.faults();
    if (processedCount > 0 || faults > faultsTold) await options.onDecided();
    faultsTold = faults;
    await learner.learnDue();
    return processedCount > 0;
  }, "select case when exists (select from case_pokes) then '1970-01-01' else min(due_at) end as at from due_cases");
  const deliver = loop(async () => (await deliverer.deliverDue()) > 0, "select min(due_at) as at from deliveries");

  function loop(round: () => Promise<boolean>, nextDueSql: string) {
    let isDirty = false;
    let sleep = { cut() {} };
    const nap = async (untilMs: number) => {
      if (isDirty || life.dead) return;
      const one = time.sleepUntil(untilMs);
      sleep = one;
      await one.over;
    };
    const wake = () => {
      isDirty = true;
      sleep.cut();
    };
    life.onDeath.push(async () => wake());
    const run = async () => {
      while (!life.dead) {
        isDirty = false;
        try {
          if (await round()) continue;
          const [first] = await observe<{ at: Date | null }>(nextDueSql);
          const dueMs = first?.at?.getTime() ?? time.nowMs() + FAR_FUTURE_MS;
          await nap(dueMs <= time.nowMs() ? time.nowMs() + IDLE_POLL_MS : dueMs);
        } catch (error) {
          log.warn({ err: error }, "round.failed");
          await nap(time.nowMs() + IDLE_POLL_MS);
        }
      }
    };
    void run();
    return { wake };
  }

  return {
    entrance: databaseFor("ingest"),
    wakeDecide: decide.wake,
    async bury() {
      life.die();
      await deliverer.stop(0);
      await Promise.all(life.onDeath.map((close) => close()));
    },
  };
}
