import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import type { MerchantModel, ModelCache } from "../engine/learned/merchant-model.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { deleteCaseTraces, tracesOfCases } from "../tables/case-traces.ts";
import { advanceMerchantClock, merchantClock } from "../tables/merchant-clocks.ts";
import { findMerchant } from "../tables/merchants.ts";
import { type ObservedRetry, recordObservedRetries } from "../tables/observed-retries.ts";
import { retryRequestsAfter } from "../tables/recovery-actions.ts";
import { enqueueCases } from "../tables/reevaluation-queue.ts";
import { endSpan, type Span } from "../tracing/tracing.ts";
import { type ClaimedCase, claimCases } from "./claim-cases.ts";
import { dateListedRows } from "./date-listed-rows.ts";
import type { AvailableModel } from "./decide-case.ts";
import { type LoadedBatch, loadCases } from "./load-cases.ts";
import { observedRetries } from "./observed-retries.ts";
import { applyReview, loadOpeningContext } from "./open-cases.ts";
import { reviewInvoices } from "./review-invoices.ts";
import { type Step, stepCase } from "./step.ts";
import { startCaseSpan, traceStep } from "./step-span.ts";
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
 * @param onClaimed  called with the first case before it is processed
 * @returns how many cases were processed
 * @throws if another process holds the clock for long: see `isLockTimeout`
 */
export async function processBatch(
  processing: BatchProcessing,
  merchantId: string,
  limit: number,
  onClaimed: (firstCase: { id: string; failures: number }) => void = () => {},
): Promise<number> {
  const { db, ports, models } = processing;
  // Outside of the transaction: a broken model must not undo a step.
  const availableModel = availableModelOf(await models.of(merchantId));
  const spans: Span[] = [];
  const processed = db.transaction(async (tx) => {
    endSpans(spans, "repeated"); // the transaction was rolled back before
    const now = ports.now();
    const [seenUntil, cases] = await Promise.all([
      merchantClock(tx, merchantId),
      claimCases(tx, merchantId, now, limit),
    ]);
    if (cases.length === 0) return NO_STEPS;
    onClaimed(cases[0]!);
    // After the cases are locked. A later change of settings queues them again.
    const merchant = await findMerchant(tx, merchantId);
    if (!merchant) return NO_STEPS;
    const [facts, traces] = await Promise.all([
      loadCases(tx, merchant, cases, now),
      tracesOfCases(
        tx,
        merchantId,
        cases.map(({ id }) => id),
      ),
    ]);
    const provisional = new Date(now);
    const inputs = { now, provisional, availableModel, traces, spans };
    const processedCases = await stepCases(processing, cases, facts, inputs);
    const owedAgain = processedCases
      .filter(({ step }) => step.isOwedAgain)
      .map(({ recoveryCase }) => recoveryCase.invoiceId);
    if (owedAgain.length > 0) await reopenCases(tx, merchantId, owedAgain, ports);
    const listedAt = await advanceMerchantClock(tx, merchantId, now, CLOCK_LOCK_TIMEOUT_MS);
    const { upToDate, overtakenIds } = await dropOvertakenRetries(tx, merchantId, processedCases, facts, seenUntil);
    const steps = upToDate.map(({ step }) => dateListedRows(step, provisional, listedAt));
    const observed = upToDate.flatMap((processedCase) => processedCase.observedRetries);
    const finishedTraces = steps.flatMap((step) => listFinishedTraces(step, traces));
    const [withdrawn] = await Promise.all([
      writeSteps(tx, merchantId, steps, now),
      observed.length > 0 && recordObservedRetries(tx, merchantId, observed, listedAt),
      overtakenIds.length > 0 && enqueueCases(tx, merchantId, overtakenIds, ports.newId()),
      finishedTraces.length > 0 && deleteCaseTraces(tx, merchantId, finishedTraces),
    ]);
    return { steps, withdrawn };
  });
  const { steps, withdrawn } = await endSpansWith(spans, processed);
  publishSteps(processing, merchantId, steps, withdrawn);
  return steps.length;
}

async function endSpansWith<Result>(spans: Span[], committed: Promise<Result>): Promise<Result> {
  let error: string | null = null;
  try {
    return await committed;
  } catch (thrown) {
    error = (thrown as Error).name;
    throw thrown;
  } finally {
    endSpans(spans, error);
  }
}

function endSpans(spans: Span[], error: string | null) {
  for (const span of spans.splice(0)) endSpan(span, error);
}

/** Later steps continue the latest trace. A case that is not due again has no later steps, except for new facts. */
function listFinishedTraces({ state: { id, dueAt } }: Step, traces: ReadonlyMap<string, readonly string[]>) {
  const ofCase = traces.get(id) ?? [];
  return (dueAt === null ? ofCase : ofCase.slice(0, -1)).map((traceparent) => ({ caseId: id, traceparent }));
}

/** For invoices whose payments no longer count. */
async function reopenCases(tx: Tx, merchantId: string, invoiceIds: readonly string[], ports: Ports) {
  const openingContext = await loadOpeningContext(tx, merchantId);
  const reviewed = await reviewInvoices(tx, merchantId, [], invoiceIds);
  const attemptIds = new Set(reviewed.flatMap(({ attempts }) => attempts.map(({ id }) => id)));
  await (await applyReview(tx, merchantId, reviewed, openingContext, ports, attemptIds))();
}

const NO_STEPS = { steps: [], withdrawn: [] };

interface ProcessedCase {
  recoveryCase: ClaimedCase;
  step: Step;
  span: Span;
  observedRetries: ObservedRetry[];
}

async function stepCases(
  { ports, pause = yieldToOthers }: BatchProcessing,
  cases: readonly ClaimedCase[],
  facts: LoadedBatch,
  inputs: {
    now: Date;
    provisional: Date;
    availableModel: AvailableModel;
    traces: ReadonlyMap<string, readonly string[]>;
    /** Filled with the cases' spans. */
    spans: Span[];
  },
): Promise<ProcessedCase[]> {
  const processedCases: ProcessedCase[] = [];
  for (const recoveryCase of cases) {
    const view = facts.view(recoveryCase);
    const span = startCaseSpan(view.merchant.id, recoveryCase, inputs.traces.get(recoveryCase.id) ?? []);
    inputs.spans.push(span);
    const step = stepCase(view, inputs.now, ports.newId, inputs.availableModel, inputs.provisional);
    const result = traceStep(span, step);
    // As the step leaves the case: attempts after its payment do not belong to it.
    const observed = observedRetries({ ...view, case: { ...view.case, ...result.state } }).map(({ id }) => ({
      ...{ id: ports.newId(), transactionId: id, caseId: recoveryCase.id },
    }));
    facts.recordRequests(result);
    processedCases.push({ recoveryCase, step: result, span, observedRetries: observed });
    // Requests and deliveries in this process must go on.
    await pause();
  }
  return processedCases;
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
  processedCases: readonly ProcessedCase[],
  facts: LoadedBatch,
  seenUntil: Date | null,
): Promise<{ upToDate: readonly ProcessedCase[]; overtakenIds: string[] }> {
  if (!processedCases.some(requestsRetry)) return { upToDate: processedCases, overtakenIds: [] };
  const otherRequests = await retryRequestsAfter(tx, merchantId, seenUntil ?? new Date(0));
  if (otherRequests.length === 0) return { upToDate: processedCases, overtakenIds: [] };
  const isOvertaken = (processedCase: ProcessedCase) =>
    requestsRetry(processedCase) && facts.hasRelevantRequest(processedCase.recoveryCase, otherRequests);
  const overtaken = processedCases.filter(isOvertaken);
  for (const { span } of overtaken) span.setAttribute("dunlin.decision.overtaken", true);
  return {
    upToDate: processedCases.filter((processedCase) => !isOvertaken(processedCase)),
    overtakenIds: overtaken.map(({ recoveryCase }) => recoveryCase.id),
  };
}

const requestsRetry = ({ step: { inserted, updated, events } }: ProcessedCase) => {
  const requestedIds = new Set(events.map(({ id }) => id));
  return [...inserted, ...updated].some(({ id, type }) => type === "RETRY" && requestedIds.has(id));
};

const availableModelOf = (model: MerchantModel): AvailableModel =>
  "failureReason" in model
    ? { model: null, failureReason: model.failureReason }
    : {
        model: { learnedModel: model.learnedModel(), version: model.version, isTrained: model.isTrained },
        failureReason: null,
      };
