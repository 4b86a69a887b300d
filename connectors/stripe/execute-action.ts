import type { StoredAction } from "../kit/action-ledger.ts";
import { idOf, OWNER_MARK } from "./stripe-account.ts";
import { type Syncing, syncInvoice } from "./sync-invoice.ts";

/** Stripe forgets an idempotency key after a day. Before that the same request cannot charge twice. */
const KEY_LIFE_MS = 23 * 3_600_000;
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
 * lost its mark, is not charged.
 */
export async function executeAction(executing: Executing, action: StoredAction): Promise<void> {
  const { account, store } = executing;
  const now = executing.now();
  const { id, invoiceId } = action;
  const skip = (problem: string) => store.endAction(id, "skipped", now, { problem });
  if (action.begunAt !== null && now.getTime() - action.begunAt.getTime() > KEY_LIFE_MS) return await settleLate();
  const invoice = await account.readInvoice(invoiceId);
  if (!invoice) return skip("Stripe has no such invoice.");
  // A charge that was begun is asked for under its key even if the invoice is paid now: perhaps it was this one.
  if (action.begunAt === null) {
    if (now.getTime() - action.dueAt.getTime() > LATE_MS)
      return skip("Its time passed more than a day ago, while the connector did not run.");
    if (invoice.status !== "open") {
      await skip(`The invoice is ${invoice.status}.`);
      return void (await syncInvoice(executing, invoiceId));
    }
    if (invoice.metadata?.[OWNER_MARK] !== executing.mark) return skip("The invoice is no longer marked as Dunlin's.");
  }
  if (action.suggestion === "ACTION_SUGGESTION_CARD_CHANGE") {
    const refusal = await executing.askForCard(action, idOf(invoice.customer));
    return refusal === null ? store.endAction(id, "asked", now) : skip(refusal);
  }
  if (!(await store.beginCharge(id, now))) return;
  const outcome = await account.pay(invoiceId, `dunlin-${id}`);
  if (outcome.kind === "charged") return end("charged", outcome.chargeId);
  if (outcome.kind === "declined") return end("declined", outcome.chargeId, outcome.message);
  if (outcome.kind === "refused") {
    await skip(outcome.message);
    return void (await syncInvoice(executing, invoiceId));
  }
  const delay = Math.min(DELAY_MAX_MS, FIRST_DELAY_MS * 2 ** Math.min(action.tries, 10));
  await store.delayAction(id, new Date(now.getTime() + delay), outcome.message);

  /** The key no longer protects: a charge made since then is the answer. */
  async function settleLate() {
    const since = action.begunAt!.getTime() - 1_000;
    const facts = await account.readFacts(invoiceId);
    const made = facts?.charges.find(({ created }) => created * 1_000 >= since);
    if (made) return end(made.status === "failed" ? "declined" : "charged", made.id);
    await skip("Stripe did not answer for a day, and shows no charge.");
    if (facts) await syncInvoice(executing, invoiceId);
  }

  async function end(state: "charged" | "declined", chargeId: string | null, problem?: string) {
    await store.endAction(id, state, now, { ...(chargeId && { chargeId }), ...(problem && { problem }) });
    await syncInvoice(executing, invoiceId);
  }
}
