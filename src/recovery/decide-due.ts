import { setImmediate as othersFirst } from "node:timers/promises";
import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import { type Database, errorFields } from "../store/database.ts";
import { firstDueCases, setCaseAside } from "../store/due-cases.ts";
import { advanceMerchantClock } from "../store/merchant-clocks.ts";
import { findMerchant } from "../store/merchants.ts";
import { noteWatchedRetries, type WatchedRetry } from "../store/watched-retries.ts";
import { asideMs } from "./aside.ts";
import type { Knowledge } from "./decide-case.ts";
import type { MerchantModel, Models } from "./models.ts";
import { type Step, step } from "./step.ts";
import { takeCases } from "./take-cases.ts";
import { loadFacts } from "./views.ts";
import { watchedRetries } from "./watched-retries.ts";
import { type ToldOfSteps, tellOfSteps, writeSteps } from "./write-steps.ts";

const CASES_PER_STEP = 100;

export interface DecideDue extends ToldOfSteps {
  db: Database;
  ports: Ports;
  log: Log;
  models: Models;
  /** Between two cases: lets everything else in the process go first. */
  pause?(): Promise<unknown>;
}

/**
 * Take the cases that are due or poked once, one step for each, and write the next due time with the result.
 *
 * @returns how many cases were stepped, and when the next one falls due (null: none)
 */
export async function decideDue(deciding: DecideDue): Promise<{ stepped: number; nextDueAt: Date | null }> {
  const { db, ports } = deciding;
  let stepped = 0;
  const dues = await firstDueCases(db);
  const now = ports.now();
  let nextDueAt: Date | null = null;
  for (const { merchantId, poked, dueAt } of dues) {
    const at = poked || dueAt === null ? now : dueAt;
    if (at <= now) stepped += await stepMerchant(deciding, merchantId);
    if (nextDueAt === null || at < nextDueAt) nextDueAt = at;
  }
  return { stepped, nextDueAt };
}

/** One batch, so that a merchant with many due cases does not keep the others waiting. */
async function stepMerchant(deciding: DecideDue, merchantId: string): Promise<number> {
  try {
    return await stepBatch(deciding, merchantId, CASES_PER_STEP);
  } catch (error) {
    deciding.log.error({ ...errorFields(error), merchantId }, "decide.failed");
    return await stepOneByOne(deciding, merchantId);
  }
}

/** A batch failed: find the case that does it, set it aside, and let the others go on. */
async function stepOneByOne(deciding: DecideDue, merchantId: string): Promise<number> {
  for (let stepped = 0; stepped < CASES_PER_STEP; stepped++) {
    let first: { id: string; failures: number } | undefined;
    try {
      const done = await stepBatch(deciding, merchantId, 1, (taken) => {
        first = taken;
      });
      if (done === 0) return stepped;
    } catch (error) {
      if (!first) throw error;
      deciding.log.error({ ...errorFields(error), merchantId, caseId: first.id }, "decide.failed");
      const again = new Date(deciding.ports.now().getTime() + asideMs(first.failures));
      await setCaseAside(deciding.db, merchantId, first.id, again);
    }
  }
  return CASES_PER_STEP;
}

async function stepBatch(
  deciding: DecideDue,
  merchantId: string,
  limit: number,
  onTaken: (first: { id: string; failures: number }) => void = () => {},
): Promise<number> {
  const { db, ports, models, pause = othersFirst } = deciding;
  // Read outside of the transaction: what is wrong with it must not undo a step.
  const model = await models.of(merchantId);
  const { steps, withdrawn } = await db.transaction(async (tx) => {
    const listedAt = await advanceMerchantClock(tx, merchantId, ports.now());
    const now = ports.now();
    const cases = await takeCases(tx, merchantId, now, limit);
    if (cases.length === 0) return { steps: [], withdrawn: [] };
    onTaken(cases[0]!);
    // Read after the cases are locked: a change of settings that comes later finds them and pokes them again.
    const merchant = await findMerchant(tx, merchantId);
    if (!merchant) return { steps: [], withdrawn: [] };
    const facts = await loadFacts(tx, merchant, cases, now);
    const knowledge = knowledgeOf(model);
    const steps: Step[] = [];
    const watched: WatchedRetry[] = [];
    for (const kase of cases) {
      const view = facts.view(kase);
      const made = step(view, now, ports.newId, knowledge, listedAt);
      // Of the case as the step leaves it: what came after its payment is not of this case.
      for (const { id } of watchedRetries({ ...view, case: { ...kase, ...made.state } }))
        watched.push({ id: ports.newId(), transactionId: id, caseId: kase.id });
      facts.note(made);
      steps.push(made);
      // A step takes some 0.4 ms, and requests and deliveries of this process want to go on.
      await pause();
    }
    const [withdrawn] = await Promise.all([
      writeSteps(tx, merchantId, steps, now),
      watched.length > 0 && noteWatchedRetries(tx, merchantId, watched, listedAt),
    ]);
    return { steps, withdrawn };
  });
  tellOfSteps(deciding, merchantId, steps, withdrawn);
  return steps.length;
}

const knowledgeOf = (model: MerchantModel): Knowledge =>
  "trouble" in model
    ? { model: null, trouble: model.trouble }
    : { model: { learned: model.learned(), version: model.version }, trouble: null };
