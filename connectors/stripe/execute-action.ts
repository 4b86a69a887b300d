import type { StoredAction } from "../kit/store.ts";
import { OWNER_MARK } from "./stripe-account.ts";
import { type Syncing, syncInvoice } from "./sync-invoice.ts";

/** Stripe forgets an idempotency key after a day. Before that the same request cannot charge twice. */
const KEY_LIFE_MS = 23 * 3_600_000;
const FIRST_DELAY_MS = 5_000;
const DELAY_MAX_MS = 15 * 60_000;

/**
 * Carries out an action whose time has come. Looks once more right before the charge: an invoice that is paid meanwhile, or that
 * lost its mark, is not charged.
 *
 * @param mark  the value of the invoice's metadata while Dunlin handles it
 */
export async function executeAction(syncing: Syncing, action: StoredAction, mark: string, now: Date): Promise<void> {
  const { account, store } = syncing;
  const { id, invoiceId } = action;
  const skip = (problem: string) => store.endAction(id, "skipped", now, { problem });
  const facts = await account.readInvoice(invoiceId);
  if (!facts) return skip("Stripe has no such invoice.");
  const { invoice, charges } = facts;
  if (action.begunAt !== null && now.getTime() - action.begunAt.getTime() > KEY_LIFE_MS) {
    // The key no longer protects: a charge made since then is the answer.
    const made = charges.find(({ created }) => created * 1_000 >= action.begunAt!.getTime() - 1_000);
    if (made) return end(made.status === "failed" ? "declined" : "charged", made.id);
    await skip("Stripe did not answer for a day, and shows no charge.");
    return void (await syncInvoice(syncing, invoiceId));
  }
  const isAsked = action.begunAt !== null;
  // A charge that was begun is asked for under its key even if the invoice is paid now: perhaps it was this one.
  if (!isAsked && invoice.status !== "open") {
    await skip(`The invoice is ${invoice.status}.`);
    return void (await syncInvoice(syncing, invoiceId));
  }
  if (!isAsked && invoice.metadata?.[OWNER_MARK] !== mark) return skip("The invoice is no longer marked as Dunlin's.");
  if (action.suggestion === "ACTION_SUGGESTION_CARD_CHANGE")
    return skip("The customer has to change the card; messages are not set up.");
  if (!(await store.beginCharge(id, now))) return;
  const outcome = await account.pay(invoiceId, `dunlin-${id}`);
  if (outcome.kind === "charged") return end("charged", outcome.chargeId);
  if (outcome.kind === "declined") return end("declined", outcome.chargeId, outcome.message);
  if (outcome.kind === "refused") {
    await skip(outcome.message);
    return void (await syncInvoice(syncing, invoiceId));
  }
  const delay = Math.min(DELAY_MAX_MS, FIRST_DELAY_MS * 2 ** Math.min(action.tries, 10));
  await store.delayAction(id, new Date(now.getTime() + delay), outcome.message);

  async function end(state: "charged" | "declined", chargeId: string | null, problem?: string) {
    await store.endAction(id, state, now, { ...(chargeId && { chargeId }), ...(problem && { problem }) });
    await syncInvoice(syncing, invoiceId);
  }
}
