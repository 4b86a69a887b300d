import type { Case } from "../domain/case.ts";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import { HOLDOUT_ANSWER, NEVER_IN_RECOVERY, SHADOW_ANSWER } from "../explain/answers.ts";
import { END_REASON_WORDING } from "../explain/story.ts";
import type { Database, Tx } from "../postgres/database.ts";
import type { AvailableModel } from "../recovery/decide-case.ts";
import { loadCases } from "../recovery/load-cases.ts";
import { type Step, step } from "../recovery/step.ts";
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

/** Which invoice, who stops its recovery, and why, for the audit log. */
export interface StopRequest {
  invoiceId: string;
  /** The case that is to end, where whoever wishes it saw one; undefined: the one that is open. */
  caseId?: string | undefined;
  actor: Actor;
  reason?: string | undefined;
}

/** What a stop did. */
export interface StopResult {
  caseId: string;
  /** The `complete_dunning` that goes out; null: the merchant has no endpoint. */
  eventId: string | null;
  /** Events that were taken back. */
  withdrawn: string[];
}

/**
 * End the open case of an invoice because a person says so: a step of the case like any other, but that nothing is decided in it. What was not
 * delivered goes back, and `complete_dunning` goes out; what was delivered may still come to something.
 *
 * @returns what was done; in words why there is nothing to stop; or null when there is no such invoice
 */
export async function stopRecovery(
  stopping: StopRecovery,
  merchantId: string,
  wish: StopRequest,
): Promise<StopResult | string | null> {
  const { db, ports } = stopping;
  const { made, withdrawn, says } = await db.transaction(async (tx) => {
    // It waits for a step that is under way: what that has made is taken back, too.
    const kase = await lockOpenCase(tx, merchantId, wish.invoiceId);
    if (kase && wish.caseId !== undefined && kase.id !== wish.caseId)
      return { made: null, withdrawn: [], says: FAILED_AGAIN_MESSAGE };
    if (kase?.arm !== "dunlin")
      return { made: null, withdrawn: [], says: await explainNothingToStop(tx, merchantId, wish.invoiceId) };
    const listedAt = await advanceMerchantClock(tx, merchantId, ports.now());
    const now = ports.now();
    const merchant = (await findMerchant(tx, merchantId))!;
    const facts = await loadCases(tx, merchant, [kase]);
    const made = step({ ...facts.view(kase), isStopped: true }, now, ports.newId, NO_MODEL, listedAt);
    const withdrawn = await writeSteps(tx, merchantId, [made], now);
    // The facts may say an end that no step has seen yet.
    const isByHand = made.state.endReason === "stopped_by_hand";
    if (isByHand) await auditStop(tx, merchantId, wish, ports);
    return {
      made,
      withdrawn,
      says: isByHand ? toStopResult(made, withdrawn) : explainNotStoppable({ ...kase, ...made.state }),
    };
  });
  if (made) publishSteps(stopping, merchantId, [made], withdrawn);
  return says;
}

const NO_MODEL: AvailableModel = { model: null, trouble: null };

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
    { deed: "recovery.stopped", object: invoiceId, details: reason ? { reason } : {} },
    ports,
  );

async function explainNothingToStop(tx: Tx, merchantId: string, invoiceId: string): Promise<string | null> {
  const latest = (await casesOfInvoice(tx, merchantId, invoiceId)).at(-1);
  if (latest)
    return explainNotStoppable(latest) ?? nothingToStopMessage("Its case was opened in this very moment: ask again.");
  return (await findInvoices(tx, merchantId, [invoiceId])).has(invoiceId)
    ? nothingToStopMessage(NEVER_IN_RECOVERY)
    : null;
}

/** Why a case can't be stopped; null when it can. */
export function explainNotStoppable({ arm, endReason }: Pick<Case, "arm" | "endReason">): string | null {
  if (endReason !== null) return nothingToStopMessage(`The case ended already: ${END_REASON_WORDING[endReason]}`);
  if (arm === "dunlin") return null;
  return nothingToStopMessage(arm === "shadow" ? SHADOW_ANSWER : HOLDOUT_ANSWER);
}

const FAILED_AGAIN_MESSAGE =
  "Nothing was stopped. The recovery that you saw is over, and the invoice failed anew since: look at it again.";

const nothingToStopMessage = (why: string) => `There is nothing to stop. ${why}`;
