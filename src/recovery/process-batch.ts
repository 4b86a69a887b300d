import { setImmediate as othersFirst } from "node:timers/promises";
import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import type { MerchantModel, ModelCache } from "../engine/learned/merchant-model.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { advanceMerchantClock, merchantClock } from "../tables/merchant-clocks.ts";
import { findMerchant } from "../tables/merchants.ts";
import { type ObservedRetry, recordObservedRetries } from "../tables/observed-retries.ts";
import { retryRequestsAfter } from "../tables/recovery-actions.ts";
import { enqueueCases } from "../tables/reevaluation-queue.ts";
import { type ClaimedCase, claimCases } from "./claim-cases.ts";
import { dateListedRows } from "./date-listed-rows.ts";
import type { AvailableModel } from "./decide-case.ts";
import { type LoadedBatch, loadCases } from "./load-cases.ts";
import { observedRetries } from "./observed-retries.ts";
import { applyReview, loadOpeningContext } from "./open-cases.ts";
import { reviewInvoices } from "./review-invoices.ts";
import { type Step, step } from "./step.ts";
import { publishSteps, type StepListeners, writeSteps } from "./write-steps.ts";

/** A process that holds the clock longer than this hangs. */
const CLOCK_LOCK_TIMEOUT_MS = 1_000;

export interface BatchProcessing extends StepListeners {
  db: Database;
  ports: Ports;
  log: Log;
  models: ModelCache;
  /** Lets the process do other work between two cases. */
  pause?(): Promise<unknown>;
}

/**
 * Processes up to `limit` queued or due cases in one transaction. Everything is decided before the merchant's clock is locked, so
 * processes for the same merchant only write in turn.
 *
 * @param onTaken  called with the first case before it is processed
 * @returns how many cases were processed
 * @throws if another process holds the clock for long: see `isLockTimeout`
 */
export async function processBatch(
  deciding: BatchProcessing,
  merchantId: string,
  limit: number,
  onTaken: (first: { id: string; failures: number }) => void = () => {},
): Promise<number> {
  const { db, ports, models } = deciding;
  // Outside of the transaction: a broken model must not undo a step.
  const knowledge = availableModelOf(await models.of(merchantId));
  const { steps, withdrawn } = await db.transaction(async (tx) => {
    const now = ports.now();
    const [seenUntil, cases] = await Promise.all([
      merchantClock(tx, merchantId),
      claimCases(tx, merchantId, now, limit),
    ]);
    if (cases.length === 0) return NO_STEPS;
    onTaken(cases[0]!);
    // After the cases are locked. A later change of settings queues them again.
    const merchant = await findMerchant(tx, merchantId);
    if (!merchant) return NO_STEPS;
    const facts = await loadCases(tx, merchant, cases, now);
    const provisional = new Date(now);
    const made = await stepCases(deciding, cases, facts, { now, provisional, knowledge });
    const owedAgain = made.filter(({ step }) => step.isOwedAgain).map(({ kase }) => kase.invoiceId);
    if (owedAgain.length > 0) await reopenCases(tx, merchantId, owedAgain, ports);
    const listedAt = await advanceMerchantClock(tx, merchantId, now, CLOCK_LOCK_TIMEOUT_MS);
    const { standing, overtaken } = await dropOvertakenRetries(tx, merchantId, made, facts, seenUntil);
    const steps = standing.map(({ step }) => dateListedRows(step, provisional, listedAt));
    const watched = standing.flatMap((each) => each.watched);
    const [withdrawn] = await Promise.all([
      writeSteps(tx, merchantId, steps, now),
      watched.length > 0 && recordObservedRetries(tx, merchantId, watched, listedAt),
      overtaken.length > 0 && enqueueCases(tx, merchantId, overtaken, ports.newId()),
    ]);
    return { steps, withdrawn };
  });
  publishSteps(deciding, merchantId, steps, withdrawn);
  return steps.length;
}

/** For invoices whose payments no longer count. */
async function reopenCases(tx: Tx, merchantId: string, invoiceIds: readonly string[], ports: Ports) {
  const beginning = await loadOpeningContext(tx, merchantId);
  const reviewed = await reviewInvoices(tx, merchantId, [], invoiceIds);
  const attemptIds = new Set(reviewed.flatMap(({ attempts }) => attempts.map(({ id }) => id)));
  await (await applyReview(tx, merchantId, reviewed, beginning, ports, attemptIds))();
}

const NO_STEPS = { steps: [], withdrawn: [] };

interface ProcessedCase {
  kase: ClaimedCase;
  step: Step;
  watched: ObservedRetry[];
}

async function stepCases(
  { ports, pause = othersFirst }: BatchProcessing,
  cases: readonly ClaimedCase[],
  facts: LoadedBatch,
  by: { now: Date; provisional: Date; knowledge: AvailableModel },
): Promise<ProcessedCase[]> {
  const all: ProcessedCase[] = [];
  for (const kase of cases) {
    const view = facts.view(kase);
    const made = step(view, by.now, ports.newId, by.knowledge, by.provisional);
    // As the step leaves the case: attempts after its payment do not belong to it.
    const watched = observedRetries({ ...view, case: { ...kase, ...made.state } }).map(({ id }) => ({
      ...{ id: ports.newId(), transactionId: id, caseId: kase.id },
    }));
    facts.note(made);
    all.push({ kase, step: made, watched });
    // Requests and deliveries in this process must go on.
    await pause();
  }
  return all;
}

/**
 * Drops retries decided without knowing of another process's request meanwhile: together they might break a network's limit.
 * Their cases are decided again.
 *
 * @param seenUntil  the time up to which the steps have seen the merchant's actions
 */
async function dropOvertakenRetries(
  tx: Tx,
  merchantId: string,
  all: readonly ProcessedCase[],
  facts: LoadedBatch,
  seenUntil: Date | null,
): Promise<{ standing: readonly ProcessedCase[]; overtaken: string[] }> {
  if (!all.some(requestsRetry)) return { standing: all, overtaken: [] };
  const others = await retryRequestsAfter(tx, merchantId, seenUntil ?? new Date(0));
  if (others.length === 0) return { standing: all, overtaken: [] };
  const isOvertaken = (made: ProcessedCase) => requestsRetry(made) && facts.isConcerned(made.kase, others);
  return {
    standing: all.filter((made) => !isOvertaken(made)),
    overtaken: all.filter(isOvertaken).map(({ kase }) => kase.id),
  };
}

const requestsRetry = ({ step: { inserted, updated, events } }: ProcessedCase) => {
  const asked = new Set(events.map(({ id }) => id));
  return [...inserted, ...updated].some(({ id, type }) => type === "RETRY" && asked.has(id));
};

const availableModelOf = (model: MerchantModel): AvailableModel =>
  "trouble" in model
    ? { model: null, trouble: model.trouble }
    : { model: { learned: model.learned(), version: model.version, isTrained: model.isTrained }, trouble: null };
