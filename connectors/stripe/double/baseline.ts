import type Stripe from "stripe";
import { type Account, createAccount } from "./account.ts";
import { createBilling } from "./billing.ts";
import { DEFAULT_RETRY_DAYS } from "./double-server.ts";
import { createShop } from "./shop.ts";
import { createWorldBank } from "./world-bank.ts";

/** A failed invoice, by customer and period; the same in every run of a world. */
export interface Outcome {
  amount: number;
  currency: string;
  isPaid: boolean;
}

const DAY_MS = 86_400_000;

/** Invoices whose first attempt failed `matureDays` before the end or earlier, and whether they were paid by then. */
export function outcomesOf(
  account: Pick<Account, "get">,
  failedAt: ReadonlyMap<string, Date>,
  endAt: Date,
  matureDays: number,
): Map<string, Outcome> {
  const outcomes = new Map<string, Outcome>();
  for (const [invoiceId, at] of failedAt) {
    if (at.getTime() > endAt.getTime() - matureDays * DAY_MS) continue;
    const { customer, period_start, total, currency, status_transitions } = account.get<Stripe.Invoice>(
      "invoice",
      invoiceId,
    );
    const { number } = account.get<Stripe.Customer>("customer", customer as string).metadata!;
    const paidAt = status_transitions.paid_at;
    outcomes.set(`${number} ${Math.round(period_start / 86_400)}`, {
      ...{ amount: total, currency },
      isPaid: paidAt !== null && paidAt * 1_000 <= endAt.getTime(),
    });
  }
  return outcomes;
}

/** The same customers and the same luck, with the account's own retries alone. */
export function runBaseline(
  { seed, customers }: { seed: number; customers: number },
  startAt: Date,
  endAt: Date,
  matureDays: number,
): Map<string, Outcome> {
  let nowMs = startAt.getTime() - DAY_MS;
  const failedAt = new Map<string, Date>();
  const bank = createWorldBank();
  const account = createAccount({
    now: () => new Date(nowMs),
    apiVersion: "baseline",
    onEvent(event) {
      shop?.onEvent(event);
      noteFailure(failedAt, event, nowMs);
    },
  });
  const billing = createBilling({
    account,
    askBank: bank.askBank,
    retryDays: DEFAULT_RETRY_DAYS,
    finalAction: "cancel",
  });
  const shop = createShop({ account, billing, bank, seed, customers, startAt, accountMails: true });
  for (;;) {
    const next = account.nextTaskAt();
    if (next === null || next * 1_000 > endAt.getTime()) break;
    nowMs = Math.max(nowMs, next * 1_000);
    account.runDue();
  }
  return outcomesOf(account, failedAt, endAt, matureDays);
}

/** Notes an invoice's first failure. */
export function noteFailure(failedAt: Map<string, Date>, event: Stripe.Event, nowMs: number) {
  if (event.type !== "invoice.payment_failed") return;
  const { id } = event.data.object as Stripe.Invoice;
  if (!failedAt.has(id!)) failedAt.set(id!, new Date(nowMs));
}

/** A line for all invoices and one for each currency: how much was recovered by each side, and the difference. */
export function formatRecovered(
  dunlin: ReadonlyMap<string, Outcome>,
  baseline: ReadonlyMap<string, Outcome>,
): string[] {
  const both = [...dunlin].filter(([key]) => baseline.has(key));
  const share = (rows: readonly Outcome[], weight: (outcome: Outcome) => number) =>
    (100 * rows.reduce((sum, row) => sum + (row.isPaid ? weight(row) : 0), 0)) /
    Math.max(
      1,
      rows.reduce((sum, row) => sum + weight(row), 0),
    );
  const line = (name: string, keys: readonly string[], weight: (outcome: Outcome) => number) => {
    const [ours, theirs] = [dunlin, baseline].map((side) =>
      share(
        keys.map((key) => side.get(key)!),
        weight,
      ),
    );
    const difference = ours! - theirs!;
    return `  ${name.padEnd(12)}${ours!.toFixed(1)} % with Dunlin, ${theirs!.toFixed(1)} % with Stripe's own retries: ${difference >= 0 ? "+" : ""}${difference.toFixed(1)} points`;
  };
  const keys = both.map(([key]) => key);
  const currencies = [...new Set(both.map(([, { currency }]) => currency))].sort();
  const differs = keys.map((key) => Number(dunlin.get(key)!.isPaid) - Number(baseline.get(key)!.isPaid));
  const mean = differs.reduce((sum, each) => sum + each, 0) / Math.max(1, differs.length);
  const spread = Math.sqrt(differs.reduce((sum, each) => sum + (each - mean) ** 2, 0)) / Math.max(1, differs.length);
  return [
    `recovered, ${keys.length} invoices that failed in both runs (${dunlin.size - keys.length} failed only with Dunlin, ${baseline.size - keys.length} only without)`,
    `${line("invoices", keys, () => 1)}, 95 % interval ±${(196 * spread).toFixed(1)}`,
    ...currencies.map((currency) =>
      line(
        currency.toUpperCase(),
        keys.filter((key) => dunlin.get(key)!.currency === currency),
        ({ amount }) => amount,
      ),
    ),
  ];
}
