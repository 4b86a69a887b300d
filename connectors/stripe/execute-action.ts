import type Stripe from "stripe";
import type { StoredAction } from "../kit/action-ledger.ts";
import { isLeftToDunlin, mapUnmadeCharge, needsCustomer } from "./mapping.ts";
import { idOf } from "./stripe-account.ts";
import { addVersions, pushRecords, type Syncing, syncInvoice } from "./sync-invoice.ts";

/** A request that made no charge by then makes none. Stripe forgets its key after a day. */
const UNDER_WAY_MS = 3_600_000;
/** Dunlin plans again two days after an action without an outcome, so a charge this late could meet the next one. */
const LATE_MS = 24 * 3_600_000;
const FIRST_DELAY_MS = 5_000;
const DELAY_MAX_MS = 15 * 60_000;

export interface Executing extends Syncing {
  /** The value of the invoice's metadata while Dunlin handles it. */
  mark: string;
  /** Asks the customer for another card. Returns why not, or null. */
  askForCard(action: StoredAction, customerId: string | undefined): Promise<string | null>;
}

/**
 * Carries out an action whose time has come. Looks once more right before the charge: an invoice that is paid meanwhile, or that
 * lost its mark, is not charged. A charge that was begun is first looked for by its key.
 */
export async function executeAction(executing: Executing, action: StoredAction): Promise<void> {
  const { account, store } = executing;
  const now = executing.now();
  const { id, invoiceId, begunAt } = action;
  const key = `dunlin-${id}`;
  const made = begunAt && (await account.findChargeByKey(key, begunAt));
  if (made) return end(made.status === "failed" ? "declined" : "charged", made.id);

  const invoice = await account.readInvoice(invoiceId);
  const obstacle = await findObstacle(executing, action, invoice, now);
  if (obstacle !== null) {
    if (begunAt && now.getTime() - begunAt.getTime() < UNDER_WAY_MS) return delay(obstacle);
    return skip(obstacle);
  }
  if (action.suggestion === "ACTION_SUGGESTION_CARD_CHANGE") {
    const refusal = await executing.askForCard(action, idOf(invoice!.customer));
    return refusal === null
      ? store.endAction(id, "asked", now)
      : store.endAction(id, "skipped", now, { problem: refusal });
  }
  if (!(await store.beginCharge(id, now))) return;
  const outcome = await account.pay(invoiceId, key);
  if (outcome.kind === "charged") return end("charged", outcome.chargeId);
  if (outcome.kind === "unknown") return delay(outcome.message);
  if (outcome.kind === "declined" && outcome.chargeId !== null)
    return end("declined", outcome.chargeId, outcome.message);
  if (needsCustomer(outcome)) await pushUnmadeCharge(outcome);
  return outcome.kind === "declined" ? end("declined", null, outcome.message) : skip(outcome.message);

  async function end(state: "charged" | "declined", chargeId: string | null, problem?: string) {
    await store.endAction(id, state, now, { ...(chargeId && { chargeId }), ...(problem && { problem }) });
    await syncInvoice(executing, invoiceId);
  }

  async function skip(problem: string) {
    await store.endAction(id, "skipped", now, { problem });
    await syncInvoice(executing, invoiceId);
  }

  async function delay(problem: string) {
    const ms = Math.min(DELAY_MAX_MS, FIRST_DELAY_MS * 2 ** Math.min(action.tries, 10));
    await store.delayAction(id, new Date(now.getTime() + ms), problem);
  }

  /** Stripe makes no charge if there is no method, or if it asks the customer first. Dunlin then asks for a card. */
  async function pushUnmadeCharge({ code, message }: { code: string | null; message: string }) {
    const readNo = await store.beginRead();
    const mapped = mapUnmadeCharge(invoice!, { actionId: id, code, message, at: now });
    const transactions = await addVersions(store, [mapped], readNo);
    await pushRecords(executing, [{ subscriptions: [], transactions, invoices: [] }]);
  }
}

/** Returns why the action may not be carried out, or null. */
async function findObstacle(
  { store, mark }: Executing,
  action: StoredAction,
  invoice: Stripe.Invoice | null,
  now: Date,
): Promise<string | null> {
  if (!invoice) return "Stripe has no such invoice.";
  if (invoice.status !== "open") return `The invoice is ${invoice.status}.`;
  if (!isLeftToDunlin(invoice, mark)) return "The invoice is no longer marked as Dunlin's.";
  if (!(await store.isOwned(action.invoiceId))) return "Dunlin no longer handles this invoice.";
  if (action.begunAt !== null)
    return now.getTime() - action.begunAt.getTime() < UNDER_WAY_MS
      ? null
      : "Stripe did not answer, and shows no charge.";
  if (now.getTime() - action.dueAt.getTime() > LATE_MS)
    return "Its time passed more than a day ago, while it could not be carried out.";
  return (await store.isReplaced(action)) ? "A later action of this invoice replaced it." : null;
}
