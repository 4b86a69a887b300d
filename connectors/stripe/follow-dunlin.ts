import type Stripe from "stripe";
import type { WebhookEvent } from "../kit/sdk.ts";
import type { ConnectorStore } from "../kit/store.ts";
import { isLeftToDunlin, isOptedOut, subscriptionIdOf } from "./mapping.ts";
import { isCollecting, OWNER_MARK, type StripeAccount } from "./stripe-account.ts";

/** The fate of an invoice that is still open when Dunlin has given up. */
export type CompleteDunning = "give_back" | "mark_uncollectible" | "cancel_subscription";

export interface Following {
  account: StripeAccount;
  store: ConnectorStore;
  /** Marks an invoice in its metadata while Dunlin handles it. */
  mark: string;
  completeDunning: CompleteDunning;
  /** Dunlin's reason for the end of an invoice's recovery, such as END_REASON_WINDOW_OVER; null: it has not ended, or is unknown. */
  readEndReason(invoiceId: string): Promise<string | null>;
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

/**
 * Turns Stripe's own retries off, unless a newer event gave the invoice back. An invoice that Stripe does not retry by itself is
 * left alone: the merchant collects it by hand, or its customer has canceled.
 */
async function takeOver(following: Following, invoiceId: string, at: Date, now: Date) {
  const { account, store, mark, hint } = following;
  await store.own(invoiceId, at);
  // An earlier try may have marked it.
  if (!(await store.isOwned(invoiceId))) return release(following, invoiceId, now);
  const invoice = await account.readInvoice(invoiceId);
  if (invoice?.status !== "open") return hint(invoiceId);
  if (isLeftToDunlin(invoice, mark)) {
    if (invoice.auto_advance !== false) await account.markInvoice(invoiceId, mark, false);
  } else if (invoice.auto_advance === false || isOptedOut(invoice)) return hint(invoiceId);
  else await account.markInvoice(invoiceId, mark, false);
  // Its end may have come meanwhile, and seen no mark yet.
  if (!(await store.isOwned(invoiceId))) await release(following, invoiceId, now);
}

/** Treats an invoice that is still open as the merchant chose, and removes the mark. */
export async function release(following: Following, invoiceId: string, now: Date) {
  const { account, store, mark, hint } = following;
  const invoice = await account.readInvoice(invoiceId);
  if (invoice && isLeftToDunlin(invoice, mark)) {
    const isRetried = invoice.status === "open" ? await endDunning(following, invoice) : undefined;
    await account.markInvoice(invoiceId, "", isRetried);
  } else if (invoice?.status === "open" && isOptedOut(invoice))
    await account.markInvoice(invoiceId, invoice.metadata![OWNER_MARK]!, await mayRetry(account, invoice));
  await store.endRelease(invoiceId, now);
  await hint(invoiceId);
}

/** With these, Dunlin has given up. After any other end, such as a stop by a person, Stripe's retries go on. */
const GIVEN_UP = new Set(["END_REASON_WINDOW_OVER", "END_REASON_BUDGET_USED", "END_REASON_HOPELESS"]);

/** Returns whether Stripe retries the invoice again; undefined: that stays off. */
async function endDunning(following: Following, invoice: Stripe.Invoice): Promise<true | undefined> {
  const { account, completeDunning, readEndReason } = following;
  const isGivenUp = completeDunning !== "give_back" && GIVEN_UP.has((await readEndReason(invoice.id)) ?? "");
  if (isGivenUp) {
    const subscriptionId = subscriptionIdOf(invoice);
    const isDone =
      completeDunning === "mark_uncollectible"
        ? await account.markUncollectible(invoice.id)
        : subscriptionId !== undefined && (await account.cancelSubscription(subscriptionId));
    if (isDone) return undefined;
  }
  return mayRetry(account, invoice);
}

/** Stripe stops collecting when a subscription ends, so that a customer who canceled is not charged. */
async function mayRetry(account: StripeAccount, invoice: Stripe.Invoice): Promise<true | undefined> {
  const subscriptionId = subscriptionIdOf(invoice);
  const subscription = subscriptionId === undefined ? null : await account.readSubscription(subscriptionId);
  return subscription === null || isCollecting(subscription) ? true : undefined;
}

const OWNED_MAX = 1_000_000;

/** An invoice that could not be given back, and why. */
export interface FailedRelease {
  invoiceId: string;
  problem: string;
}

/**
 * Ends everything that Dunlin does for the account: its invoices get Stripe's retries back.
 *
 * @returns the number of invoices given back, and those that failed
 */
export async function giveAllBack(
  following: Omit<Following, "completeDunning" | "readEndReason">,
  now: Date,
): Promise<{ count: number; failed: FailedRelease[] }> {
  const { store } = following;
  const failed: FailedRelease[] = [];
  const ids = await store.listOwned(OWNED_MAX);
  for (const invoiceId of ids)
    try {
      await store.disown(invoiceId, now);
      await store.dropPlans(invoiceId, now, ENDED);
      await store.messages.dropPlans(invoiceId, now, ENDED);
      await release({ ...following, completeDunning: "give_back", readEndReason: async () => null }, invoiceId, now);
    } catch (error) {
      failed.push({ invoiceId, problem: (error as Error).message });
    }
  return { count: ids.length - failed.length, failed };
}

const ENDED = "The connection was ended.";
