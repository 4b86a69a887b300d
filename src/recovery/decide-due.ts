import { setImmediate as othersFirst } from "node:timers/promises";
import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import { saveCaseStates } from "../store/cases.ts";
import { type Database, errorFields, type Tx } from "../store/database.ts";
import { insertDecisions } from "../store/decisions.ts";
import { firstDueCases, moveDueCases, setCaseAside } from "../store/due-cases.ts";
import { insertEvents, withdrawEvents } from "../store/events.ts";
import { advanceMerchantClock } from "../store/merchant-clocks.ts";
import { findMerchant } from "../store/merchants.ts";
import { insertRecoveryActions, updateRecoveryActions } from "../store/recovery-actions.ts";
import { noteWatchedRetries, type WatchedRetry } from "../store/watched-retries.ts";
import { asideMs } from "./aside.ts";
import type { Knowledge } from "./decide-case.ts";
import type { OnWithdrawn } from "./ingest.ts";
import type { MerchantModel, Models } from "./models.ts";
import { type Step, step } from "./step.ts";
import { takeCases } from "./take-cases.ts";
import { loadFacts } from "./views.ts";
import { watchedRetries } from "./watched-retries.ts";

const CASES_PER_STEP = 100;

export interface DecideDue {
  db: Database;
  ports: Ports;
  log: Log;
  /** Events were committed for this merchant. */
  onEvents(merchantId: string): void;
  onWithdrawn: OnWithdrawn;
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
  { db, ports, log, onEvents, onWithdrawn, models, pause = othersFirst }: DecideDue,
  merchantId: string,
  limit: number,
  onTaken: (first: { id: string; failures: number }) => void = () => {},
): Promise<number> {
  // Read outside of the transaction: what is wrong with it must not undo a step.
  const model = await models.of(merchantId);
  const { steps, withdrawn } = await db.transaction(async (tx) => {
    const now = await advanceMerchantClock(tx, merchantId, ports.now());
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
      const made = step(view, now, ports.newId, knowledge);
      // Of the case as the step leaves it: what came after its payment is not of this case.
      for (const { id } of watchedRetries({ ...view, case: { ...kase, ...made.state } }))
        watched.push({ id: ports.newId(), transactionId: id, caseId: kase.id });
      facts.note(made);
      steps.push(made);
      // A decision takes a millisecond, and requests and deliveries of this process want to go on.
      await pause();
    }
    return { steps, withdrawn: await write(tx, merchantId, steps, watched, now) };
  });
  if (withdrawn.length > 0) onWithdrawn(merchantId, withdrawn);
  if (steps.some(({ events }) => events.length > 0)) onEvents(merchantId);
  for (const { state, events, inserted, updated, error } of steps) {
    if (error !== null) log.error({ ...errorFields(error), merchantId, caseId: state.id }, "engine.failed");
    logStep(log, merchantId, state, events, [...inserted, ...updated]);
  }
  return steps.length;
}

const knowledgeOf = (model: MerchantModel): Knowledge =>
  "trouble" in model
    ? { model: null, trouble: model.trouble }
    : { model: { learned: model.learned(), version: model.version }, trouble: null };

async function write(
  tx: Tx,
  merchantId: string,
  steps: readonly Step[],
  watched: readonly WatchedRetry[],
  now: Date,
): Promise<string[]> {
  const ended = steps.filter(({ withdrawAll }) => withdrawAll).map(({ state }) => state.id);
  const single = steps.flatMap(({ withdrawn }) => withdrawn);
  const inserted = steps.flatMap((s) => s.inserted);
  const updated = steps.flatMap((s) => s.updated);
  const events = steps.flatMap((s) => s.events);
  const decisions = steps.flatMap(({ decision }) => decision ?? []);
  const states = steps.map(({ state }) => state);
  const over = states.filter(({ endedAt }) => endedAt !== null);
  // In this order, and none waits for the answer to the one before it.
  const [withdrawn] = await Promise.all([
    ended.length + single.length > 0 ? withdrawEvents(tx, merchantId, ended, single, now) : [],
    inserted.length > 0 && insertRecoveryActions(tx, merchantId, inserted),
    updated.length > 0 && updateRecoveryActions(tx, merchantId, updated),
    events.length > 0 && insertEvents(tx, merchantId, events),
    decisions.length > 0 && insertDecisions(tx, merchantId, decisions),
    watched.length > 0 && noteWatchedRetries(tx, merchantId, watched, now),
    over.length > 0 && saveCaseStates(tx, merchantId, over),
    moveDueCases(tx, merchantId, states, now),
  ]);
  return withdrawn;
}

function logStep(
  log: Log,
  merchantId: string,
  state: Step["state"],
  events: Step["events"],
  actions: readonly Step["updated"][number][],
) {
  const caseId = state.id;
  for (const { id, type, invoiceId } of events)
    log.info({ merchantId, caseId, invoiceId, eventId: id, type }, "event.created");
  for (const { id, type, status, idealRetryTime, invoiceId } of actions)
    log.info({ merchantId, caseId, invoiceId, actionId: id, type, status, idealRetryTime }, "action.changed");
  if (state.endReason) log.info({ merchantId, caseId, endReason: state.endReason, dueAt: state.dueAt }, "case.ended");
}
