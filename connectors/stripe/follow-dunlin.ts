import type { WebhookEvent } from "../kit/sdk.ts";
import type { ConnectorStore } from "../kit/store.ts";
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
    await takeOver(following, invoiceId, at);
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
  if (!(await store.disown(invoiceId, at))) return;
  await store.dropPlans(invoiceId, now, why);
  await release(following, invoiceId);
  await following.hint(invoiceId);
}

const RELEASED = "Dunlin no longer handles this invoice.";

/** Turns Stripe's own retries off, unless a newer event gave the invoice back. */
async function takeOver({ account, store, mark }: Following, invoiceId: string, at: Date) {
  await store.own(invoiceId, at);
  if (!(await store.isOwned(invoiceId))) return;
  const facts = await account.readInvoice(invoiceId);
  if (facts?.invoice.status !== "open") return;
  if (facts.invoice.auto_advance === false && facts.invoice.metadata?.[OWNER_MARK] === mark) return;
  await account.markInvoice(invoiceId, mark, false);
}

/** Treats an invoice that is still open as the merchant chose, and removes the mark. */
async function release({ account, mark, completeDunning }: Following, invoiceId: string) {
  const facts = await account.readInvoice(invoiceId);
  if (facts?.invoice.metadata?.[OWNER_MARK] !== mark) return;
  const { invoice, subscription } = facts;
  if (invoice.status === "open") {
    if (completeDunning === "mark_uncollectible") await account.markUncollectible(invoiceId);
    if (completeDunning === "cancel_subscription" && subscription && subscription.status !== "canceled")
      await account.cancelSubscription(subscription.id);
  }
  const isGivenBack = invoice.status === "open" && completeDunning === "give_back";
  await account.markInvoice(invoiceId, "", isGivenBack ? true : undefined);
}
