import type { Case } from "../domain/case.ts";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import { audit } from "../store/audit-log.ts";
import { casesOfInvoice, lockOpenCase } from "../store/cases.ts";
import type { Database, Tx } from "../store/database.ts";
import { findInvoices } from "../store/invoices.ts";
import { advanceMerchantClock } from "../store/merchant-clocks.ts";
import { findMerchant } from "../store/merchants.ts";
import type { Knowledge } from "./decide-case.ts";
import { NEVER, SHADOW, WATCHED } from "./explanation.ts";
import { type Step, step } from "./step.ts";
import { END_WORDS } from "./story.ts";
import { loadFacts } from "./views.ts";
import { type ToldOfSteps, tellOfSteps, writeSteps } from "./write-steps.ts";

export interface StopRecovery extends ToldOfSteps {
  db: Database;
  ports: Ports;
}

/** Which invoice, who stops its recovery, and why, for the audit log. */
export interface Wish {
  invoiceId: string;
  /** The case that is to end, where whoever wishes it saw one; undefined: the one that is open. */
  caseId?: string | undefined;
  actor: Actor;
  reason?: string | undefined;
}

/** What a stop did. */
export interface Stopped {
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
  wish: Wish,
): Promise<Stopped | string | null> {
  const { db, ports } = stopping;
  const { made, withdrawn, says } = await db.transaction(async (tx) => {
    // It waits for a step that is under way: what that has made is taken back, too.
    const kase = await lockOpenCase(tx, merchantId, wish.invoiceId);
    if (kase && wish.caseId !== undefined && kase.id !== wish.caseId) return { made: null, withdrawn: [], says: ANEW };
    if (kase?.arm !== "dunlin")
      return { made: null, withdrawn: [], says: await whyNothing(tx, merchantId, wish.invoiceId) };
    const listedAt = await advanceMerchantClock(tx, merchantId, ports.now());
    const now = ports.now();
    const merchant = (await findMerchant(tx, merchantId))!;
    const facts = await loadFacts(tx, merchant, [kase]);
    const made = step({ ...facts.view(kase), isStopped: true }, now, ports.newId, NOTHING_TO_DECIDE_BY, listedAt);
    const withdrawn = await writeSteps(tx, merchantId, [made], now);
    // The facts may say an end that no step has seen yet.
    const isByHand = made.state.endReason === "stopped_by_hand";
    if (isByHand) await auditStop(tx, merchantId, wish, ports);
    return {
      made,
      withdrawn,
      says: isByHand ? stopped(made, withdrawn) : nothingToStop({ ...kase, ...made.state }),
    };
  });
  if (made) tellOfSteps(stopping, merchantId, [made], withdrawn);
  return says;
}

const NOTHING_TO_DECIDE_BY: Knowledge = { model: null, trouble: null };

const stopped = ({ state, events }: Step, withdrawn: string[]): Stopped => ({
  caseId: state.id,
  eventId: events[0]?.id ?? null,
  withdrawn,
});

const auditStop = (tx: Tx, merchantId: string, { invoiceId, actor, reason }: Wish, ports: Ports) =>
  audit(
    tx,
    merchantId,
    actor,
    { deed: "recovery.stopped", object: invoiceId, details: reason ? { reason } : {} },
    ports,
  );

async function whyNothing(tx: Tx, merchantId: string, invoiceId: string): Promise<string | null> {
  const latest = (await casesOfInvoice(tx, merchantId, invoiceId)).at(-1);
  if (latest) return nothingToStop(latest) ?? nothing("Its case was opened in this very moment: ask again.");
  return (await findInvoices(tx, merchantId, [invoiceId])).has(invoiceId) ? nothing(NEVER) : null;
}

/** Why a case can't be stopped; null when it can. */
export function nothingToStop({ arm, endReason }: Pick<Case, "arm" | "endReason">): string | null {
  if (endReason !== null) return nothing(`The case ended already: ${END_WORDS[endReason]}`);
  if (arm === "dunlin") return null;
  return nothing(arm === "shadow" ? SHADOW : WATCHED);
}

const ANEW =
  "Nothing was stopped. The recovery that you saw is over, and the invoice failed anew since: look at it again.";

const nothing = (why: string) => `There is nothing to stop. ${why}`;
