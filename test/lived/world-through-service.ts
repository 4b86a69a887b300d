import type { WebhookEvent } from "#sdk";
import { type Attempt, codesOf, instrumentOf, maxRetriesFor, type OpenCase } from "../../lab/trial/policy.ts";
import type { Trial } from "../../lab/trial/run-trial.ts";
import { createTimeQueue } from "../../lab/trial/time-queue.ts";
import type { Bill, Charge, World } from "../../lab/worlds/world.ts";
import { DAY_MS } from "../../src/domain/durations.ts";
import type { Merchant } from "../../src/domain/merchant.ts";
import type { PretrainedModel } from "../../src/engine/learned/pretrained-model.ts";
import { endsRetries } from "../../src/engine/rules/decline-groups.ts";
import { interpretDecline } from "../../src/engine/rules/interpret-decline.ts";
import type { Database } from "../../src/postgres/database.ts";
import { openServiceLoops, type PushedRecords } from "./service-loops.ts";
import { toInvoice, toSubscription, toTransaction } from "./world-records.ts";

interface Options {
  seed: number;
  customers: number;
  /** The service's pretrained model. */
  prior: PretrainedModel;
  /**
   * Merchants push only subscriptions and invoices. They keep their gateway's answers, and refuse to retry an invoice after a
   * hard decline.
   */
  alone?: boolean;
}

/** The other instructions beside the retries. */
export interface ServiceTrial extends Trial {
  asked: { retries: number; cardChanges: number; ends: number; refused: number };
}

interface ServiceTrialCase extends OpenCase {
  merchant: Merchant;
  attempts: Attempt[];
  paid: boolean;
}

/** Returns the same world with windows that the service's settings allow. */
export function withWholeDayWindows(world: World): World {
  return {
    ...world,
    *bills(seed, customers) {
      for (const bill of world.bills(seed, customers))
        yield { ...bill, windowDays: Math.max(1, Math.floor(bill.windowDays)) };
    },
  };
}

/** Invoices of this period are pushed together, unless other work is due before. */
const INGEST_BATCH_MS = 5 * 60_000;

/**
 * Runs a world's year through the service: its merchants push records, receive webhooks and follow them, with the same luck as in
 * a trial. One merchant of the service stands for each merchant of the world and each of its window lengths. No customer brings a
 * new card, except as the world renews it.
 *
 * @param db  of a new installation
 * @param world  one of `withWholeDayWindows`
 */
export async function runWorldThroughService(
  db: Database,
  world: World,
  { seed, customers, prior, alone = false }: Options,
): Promise<ServiceTrial> {
  const lived: ServiceTrial = { cases: [], retries: [], asked: { retries: 0, cardChanges: 0, ends: 0, refused: 0 } };
  const service = openServiceLoops(db, prior, receive);
  const retries = createTimeQueue<{ open: ServiceTrialCase; eventId: string }>();
  const merchants = new Map<string, Merchant>();
  const open = new Map<string, ServiceTrialCase>();
  /** The attempts that each merchant saw. A merchant does not see other merchants' attempts on a customer or card. */
  const seen = new Map<Merchant, { byCustomer: Map<string, Attempt[]>; byCard: Map<string, Attempt[]> }>();
  const subscribed = new Set<string>();
  const waiting = new Map<Merchant, PushedRecords>();
  let transactions = 0;
  let nowMs = 0;
  let nextDueAt = Number.POSITIVE_INFINITY;

  function receive({ id, type, data }: WebhookEvent) {
    if (type === "complete_dunning") lived.asked.ends++;
    if (type !== "recovery_action") return;
    if (data.actionSuggestion === "ACTION_SUGGESTION_CARD_CHANGE") lived.asked.cardChanges++;
    else {
      lived.asked.retries++;
      retries.push(new Date(data.idealRetryTime).getTime(), { open: open.get(data.invoiceId)!, eventId: id });
    }
  }

  async function merchantOf(bill: Bill): Promise<Merchant> {
    const { windowDays } = bill;
    const budget = maxRetriesFor(bill);
    const name = `${bill.merchantKey}, ${windowDays} days, ${budget} tries`;
    const merchant = merchants.get(name) ?? (await service.merchant(name, { windowDays, budget }));
    merchants.set(name, merchant);
    return merchant;
  }

  const pushedBy = (merchant: Merchant) => {
    const pushed = waiting.get(merchant) ?? { subscriptions: [], transactions: [], invoices: [] };
    waiting.set(merchant, pushed);
    return pushed;
  };

  const seenBy = (merchant: Merchant) => {
    const known = seen.get(merchant) ?? {
      byCustomer: new Map<string, Attempt[]>(),
      byCard: new Map<string, Attempt[]>(),
    };
    seen.set(merchant, known);
    return known;
  };

  function note(merchant: Merchant, bill: Bill, charge: Charge): Attempt[] {
    const { byCustomer, byCard } = seenBy(merchant);
    const attempts = byCustomer.get(bill.customerId) ?? [];
    byCustomer.set(bill.customerId, attempts);
    attempts.push({ bill, charge });
    const { cardFingerprint: card } = charge;
    if (card !== undefined) byCard.set(card, [...(byCard.get(card) ?? []), { bill, charge }]);
    return attempts;
  }

  function told(merchant: Merchant, bill: Bill, charge: Charge, eventId: string | null) {
    const { transactions: attempts, invoices } = pushedBy(merchant);
    if (!alone) attempts.push(toTransaction(bill, charge, `txn_${++transactions}`, eventId));
    invoices.push(toInvoice(bill, charge.approved ? "PAID" : "UNPAID", charge.at));
  }

  async function billed(bill: Bill) {
    const merchant = await merchantOf(bill);
    if (!subscribed.has(bill.subscriptionId)) pushedBy(merchant).subscriptions.push(toSubscription(bill));
    subscribed.add(bill.subscriptionId);
    const attempts = note(merchant, bill, bill.first);
    told(merchant, bill, { ...bill.first, at: bill.createdAt }, null);
    if (bill.first.approved) return;
    const endsAt = bill.createdAt.getTime() + bill.windowDays * DAY_MS;
    const retriesLeft = maxRetriesFor(bill);
    const failed = {
      bill,
      charges: [bill.first],
      retriesLeft,
      endsAt,
      attempts,
      ...seenBy(merchant),
      merchant,
      paid: false,
    };
    lived.cases.push(failed);
    open.set(bill.id, failed);
  }

  function retried({ open, eventId }: { open: ServiceTrialCase; eventId: string }) {
    if (open.paid) return;
    const at = new Date(nowMs);
    const { bill, charges, merchant } = open;
    if (alone && isFinalDecline(charges.at(-1)!)) {
      lived.asked.refused++;
      pushedBy(merchant).invoices.push(toInvoice(bill, "UNPAID", at));
      return;
    }
    const charge = world.charge(bill, at);
    charges.push(charge);
    note(merchant, bill, charge);
    lived.retries.push({ open, choice: { at: nowMs, chance: null }, charge });
    open.paid = charge.approved;
    told(merchant, bill, { ...charge, at }, eventId);
  }

  const bills = world.bills(seed, customers)[Symbol.iterator]();
  const nextBill = () => {
    const { value, done } = bills.next();
    return done ? null : value;
  };
  const billedAt = () => bill?.createdAt.getTime() ?? Number.POSITIVE_INFINITY;
  let bill = nextBill();
  for (;;) {
    const due = Math.min(retries.nextAt(), nextDueAt);
    const next = Math.min(billedAt(), due);
    if (next === Number.POSITIVE_INFINITY) break;
    nowMs = Math.max(nowMs + 1, next);
    if (billedAt() <= nowMs) {
      const until = Math.min(billedAt() + INGEST_BATCH_MS, Math.max(due, nowMs + 1));
      while (bill && billedAt() < until) {
        nowMs = Math.max(nowMs, billedAt());
        await billed(bill);
        bill = nextBill();
      }
    } else if (retries.nextAt() <= nowMs) retried(retries.pop()!);
    for (const [merchant, records] of waiting) await service.push(nowMs, merchant, records);
    waiting.clear();
    nextDueAt = await service.work(nowMs);
  }
  await service.close();
  return lived;
}

/** Whether the invoice's last charge was a hard decline, as a merchant sees it who considers only this invoice. */
export function isFinalDecline(charge: Charge): boolean {
  const { group, renewsItself } = interpretDecline(codesOf(charge), instrumentOf(charge));
  return endsRetries(group) && !renewsItself;
}
