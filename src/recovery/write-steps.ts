import type { Logger as Log } from "pino";
import type { OnWithdrawn } from "../domain/event.ts";
import type { Tx } from "../postgres/database.ts";
import { errorFields } from "../postgres/database-errors.ts";
import { saveCaseRules, saveCaseStates } from "../tables/cases.ts";
import { insertDecisions } from "../tables/decisions.ts";
import { rescheduleCases } from "../tables/due-cases.ts";
import { insertEvents, withdrawEvents } from "../tables/events.ts";
import { clearConflicts, saveConflicts } from "../tables/invoice-conflicts.ts";
import { insertRecoveryActions, updateRecoveryActions } from "../tables/recovery-actions.ts";
import { saveCaseTraits } from "../tables/recovery-sums.ts";
import { toStoredConflict } from "./review-invoices.ts";
import type { Step } from "./step.ts";

/**
 * The caller holds the locks on their cases and the merchant's clock, so listed rows are written in time order.
 *
 * @returns ids of withdrawn events
 */
export async function writeSteps(tx: Tx, merchantId: string, steps: readonly Step[], now: Date): Promise<string[]> {
  const endedIds = steps.filter(({ endsNow }) => endsNow).map(({ state }) => state.id);
  const withdrawnIds = steps.flatMap(({ withdrawn }) => withdrawn);
  const inserted = steps.flatMap((s) => s.inserted);
  const updated = steps.flatMap((s) => s.updated);
  const events = steps.flatMap((s) => s.events);
  const decisions = steps.flatMap(({ decision }) => decision ?? []);
  const newRules = steps.flatMap(({ newRule }) => newRule ?? []);
  const states = steps.map(({ state }) => state);
  const conflicts = listFoundConflicts(steps, now);
  const resolved = steps.filter(({ conflict }) => conflict === null).map(({ state }) => state.invoiceId);
  const endedStates = states.filter(({ endedAt }) => endedAt !== null);
  // The order matters, but none waits for the answer to the one before it.
  const [withdrawn] = await Promise.all([
    endedIds.length + withdrawnIds.length > 0 ? withdrawEvents(tx, merchantId, endedIds, withdrawnIds, now) : [],
    inserted.length > 0 && insertRecoveryActions(tx, merchantId, inserted),
    updated.length > 0 && updateRecoveryActions(tx, merchantId, updated),
    events.length > 0 && insertEvents(tx, merchantId, events),
    decisions.length > 0 && insertDecisions(tx, merchantId, decisions),
    conflicts.length > 0 && saveConflicts(tx, merchantId, conflicts),
    resolved.length > 0 && clearConflicts(tx, merchantId, resolved),
    newRules.length > 0 && saveCaseRules(tx, merchantId, newRules),
    endedStates.length > 0 && saveCaseStates(tx, merchantId, endedStates),
    saveCaseTraits(
      tx,
      merchantId,
      steps.map(({ state: { id }, traits }) => ({ id, ...traits })),
    ),
    rescheduleCases(tx, merchantId, states, now),
  ]);
  return withdrawn;
}

const listFoundConflicts = (steps: readonly Step[], now: Date) =>
  steps
    .flatMap(({ conflict, state }) => (conflict ? toStoredConflict(state.invoiceId, conflict, now) : []))
    .sort((a, b) => (a.invoiceId < b.invoiceId ? -1 : 1));

export interface StepListeners {
  log: Pick<Log, "info" | "error">;
  /** Called after the merchant's events were committed. */
  onEvents(merchantId: string): void;
  onWithdrawn: OnWithdrawn;
}

/** `withdrawn` comes from `writeSteps`. */
export function publishSteps(
  { log, onEvents, onWithdrawn }: StepListeners,
  merchantId: string,
  steps: readonly Step[],
  withdrawn: readonly string[],
) {
  if (withdrawn.length > 0) onWithdrawn(merchantId, withdrawn);
  if (steps.some(({ events }) => events.length > 0)) onEvents(merchantId);
  for (const step of steps) logStep(log, merchantId, step);
}

function logStep(
  log: StepListeners["log"],
  merchantId: string,
  { state, events, inserted, updated, error, endsNow }: Step,
) {
  const caseId = state.id;
  if (error !== null) log.error({ ...errorFields(error), merchantId, caseId }, "engine.failed");
  for (const { id, type, invoiceId } of events)
    log.info({ merchantId, caseId, invoiceId, eventId: id, type }, "event.created");
  for (const { id, type, status, idealRetryTime, invoiceId } of [...inserted, ...updated])
    log.info({ merchantId, caseId, invoiceId, actionId: id, type, status, idealRetryTime }, "action.changed");
  if (endsNow) log.info({ merchantId, caseId, endReason: state.endReason, dueAt: state.dueAt }, "case.ended");
}
