import type { WebhookEvent } from "../kit/sdk.ts";
import type { ConnectorStore } from "../kit/store.ts";
import { subscriptionIdOf } from "./mapping.ts";
import { OWNER_MARK, type StripeAccount } from "./stripe-account.ts";

/** The fate of an invoice that is still open when its recovery ends. */
export type CompleteDunning = "give_back" | "mark_uncollectible" | "cancel_subscription";

export interface Following {
  account: StripeAccount;
  store: ConnectorStore;
  /** Marks an invoice in its metadata while Dunlin handles it. */
  mark: string;
  completeDunning: CompleteDunning;
  /** Notes that an invoice has to be read again. */
  hint(invoiceId: string): Promise<void>;
}

/** Carries out an event of Dunlin. Safe to repeat, and in any order: the event's time decides. */
export async function followEvent(following: Following, event: WebhookEvent, now: Date): Promise<void> {
  const { store } = following;
  const { invoiceId } = event.data;
  const at = event.created === undefined ? now : new Date(event.created);
  if (event.type === "pause_collection" || event.type === "recovery_action") {
    await takeOver(following, invoiceId, at, now);
    if (event.type === "recovery_action")
      await store.planAction({
        id: event.id,
        invoiceId,
        suggestion: event.data.actionSuggestion,
        dueAt: new Date(event.data.idealRetryTime),
      });
    return;
  }
  const why = event.type === "complete_dunning" ? "Dunlin ended the dunning of this invoice." : RELEASED;
  // Also done again if an earlier try died in between.
  if (!(await store.disown(invoiceId, at))) return;
  await store.dropPlans(invoiceId, now, why);
  await store.messages.dropPlans(invoiceId, now, why);
  await release(following, invoiceId, now);
}

const RELEASED = "Dunlin no longer handles this invoice.";

/** Turns Stripe's own retries off, unless a newer event gave the invoice back. */
async function takeOver(following: Following, invoiceId: string, at: Date, now: Date) {
  const { account, store, mark, hint } = following;
  await store.own(invoiceId, at);
  // An earlier try may have marked it.
  if (!(await store.isOwned(invoiceId))) return release(following, invoiceId, now);
  const invoice = await account.readInvoice(invoiceId);
  if (invoice?.status !== "open") return hint(invoiceId);
  if (invoice.auto_advance === false && invoice.metadata?.[OWNER_MARK] === mark) return;
  await account.markInvoice(invoiceId, mark, false);
  // Its end may have come meanwhile, and seen no mark yet.
  if (!(await store.isOwned(invoiceId))) await release(following, invoiceId, now);
}

/** Treats an invoice that is still open as the merchant chose, and removes the mark. */
export async function release(following: Following, invoiceId: string, now: Date) {
  const { account, store, mark, completeDunning, hint } = following;
  const invoice = await account.readInvoice(invoiceId);
  if (invoice?.metadata?.[OWNER_MARK] === mark) {
    const isOpen = invoice.status === "open";
    const subscriptionId = subscriptionIdOf(invoice);
    if (isOpen && completeDunning === "mark_uncollectible") await account.markUncollectible(invoiceId);
    if (isOpen && completeDunning === "cancel_subscription" && subscriptionId !== undefined)
      await account.cancelSubscription(subscriptionId);
    await account.markInvoice(invoiceId, "", isOpen && completeDunning === "give_back" ? true : undefined);
  }
  await store.endRelease(invoiceId, now);
  await hint(invoiceId);
}

const OWNED_MAX = 1_000_000;

/** Ends everything that Dunlin does for the account: its invoices get Stripe's retries back. Returns their number. */
export async function giveAllBack(following: Omit<Following, "completeDunning">, now: Date): Promise<number> {
  const { store } = following;
  const ids = await store.listOwned(OWNED_MAX);
  for (const invoiceId of ids) {
    await store.disown(invoiceId, now);
    await store.dropPlans(invoiceId, now, ENDED);
    await store.messages.dropPlans(invoiceId, now, ENDED);
    await release({ ...following, completeDunning: "give_back" }, invoiceId, now);
  }
  return ids.length;
}

const ENDED = "The connection was ended.";
