import type { Case } from "../domain/case.ts";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import { HOLDOUT_ANSWER, NEVER_IN_RECOVERY, SHADOW_ANSWER } from "../explain/answers.ts";
import { END_REASON_WORDING } from "../explain/story.ts";
import type { Database, Tx } from "../postgres/database.ts";
import type { AvailableModel } from "../recovery/decide-case.ts";
import { loadCases } from "../recovery/load-cases.ts";
import { type Step, stepCase } from "../recovery/step.ts";
import { publishSteps, type StepListeners, writeSteps } from "../recovery/write-steps.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import { casesOfInvoice, lockOpenCase } from "../tables/cases.ts";
import { findInvoices } from "../tables/invoices.ts";
import { advanceMerchantClock } from "../tables/merchant-clocks.ts";
import { findMerchant } from "../tables/merchants.ts";

export interface StopRecovery extends StepListeners {
  db: Database;
  ports: Ports;
}

export interface StopRequest {
  invoiceId: string;
  /** The case that the person saw; undefined: the open one. */
  caseId?: string | undefined;
  actor: Actor;
  reason?: string | undefined;
}

export interface StopResult {
  caseId: string;
  /** The queued `complete_dunning`; null: the merchant has no endpoint. */
  eventId: string | null;
  withdrawn: string[];
}

/**
 * Ends the open case of an invoice on a person's request. Withdraws undelivered events and queues `complete_dunning`; a delivered
 * instruction may still succeed.
 *
 * @returns a message if there is nothing to stop; null if there is no such invoice
 */
export async function stopRecovery(
  service: StopRecovery,
  merchantId: string,
  request: StopRequest,
): Promise<StopResult | string | null> {
  const { db, ports } = service;
  const { stopStep, withdrawn, answer } = await db.transaction(async (tx) => {
    // Waits for a running step, so that its events are withdrawn too.
    const recoveryCase = await lockOpenCase(tx, merchantId, request.invoiceId);
    if (recoveryCase && request.caseId !== undefined && recoveryCase.id !== request.caseId)
      return { stopStep: null, withdrawn: [], answer: FAILED_AGAIN_MESSAGE };
    if (recoveryCase?.arm !== "dunlin")
      return { stopStep: null, withdrawn: [], answer: await explainNothingToStop(tx, merchantId, request.invoiceId) };
    const listedAt = await advanceMerchantClock(tx, merchantId, ports.now());
    const now = ports.now();
    const merchant = (await findMerchant(tx, merchantId))!;
    const facts = await loadCases(tx, merchant, [recoveryCase]);
    const stopStep = stepCase({ ...facts.view(recoveryCase), isStopped: true }, now, ports.newId, NO_MODEL, listedAt);
    const withdrawn = await writeSteps(tx, merchantId, [stopStep], now);
    // The facts may already contain another end.
    const isByHand = stopStep.state.endReason === "stopped_by_hand";
    if (isByHand) await auditStop(tx, merchantId, request, ports);
    return {
      stopStep,
      withdrawn,
      answer: isByHand
        ? toStopResult(stopStep, withdrawn)
        : explainNotStoppable({ ...recoveryCase, ...stopStep.state }),
    };
  });
  if (stopStep) publishSteps(service, merchantId, [stopStep], withdrawn);
  return answer;
}

const NO_MODEL: AvailableModel = { model: null, failureReason: null };

const toStopResult = ({ state, events }: Step, withdrawn: string[]): StopResult => ({
  caseId: state.id,
  eventId: events[0]?.id ?? null,
  withdrawn,
});

const auditStop = (tx: Tx, merchantId: string, { invoiceId, actor, reason }: StopRequest, ports: Ports) =>
  writeAuditEntry(
    tx,
    merchantId,
    actor,
    { operation: "recovery.stopped", object: invoiceId, details: reason ? { reason } : {} },
    ports,
  );

async function explainNothingToStop(tx: Tx, merchantId: string, invoiceId: string): Promise<string | null> {
  const latestCase = (await casesOfInvoice(tx, merchantId, invoiceId)).at(-1);
  if (latestCase)
    return explainNotStoppable(latestCase) ?? nothingToStopMessage("The case was only just opened. Try again.");
  return (await findInvoices(tx, merchantId, [invoiceId])).has(invoiceId)
    ? nothingToStopMessage(NEVER_IN_RECOVERY)
    : null;
}

/** Returns why a case cannot be stopped; null if it can. */
export function explainNotStoppable({ arm, endReason }: Pick<Case, "arm" | "endReason">): string | null {
  if (endReason !== null) return nothingToStopMessage(`The case ended already: ${END_REASON_WORDING[endReason]}`);
  if (arm === "dunlin") return null;
  return nothingToStopMessage(arm === "shadow" ? SHADOW_ANSWER : HOLDOUT_ANSWER);
}

const FAILED_AGAIN_MESSAGE =
  "Nothing was stopped. The recovery that you saw is over, and the invoice has failed again since then. Check it again.";

const nothingToStopMessage = (reason: string) => `There is nothing to stop. ${reason}`;
