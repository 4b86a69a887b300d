import { createRandom } from "../lab/experiments/random-numbers.ts";

const DAY_MS = 86_400_000;

/** An attempt of a synthetic history. Amounts in cents. */
export interface HistoryAttempt {
  invoiceId: string;
  customerId: string;
  at: Date;
  isPaid: boolean;
  amount: number;
}

/**
 * Creates the history of a merchant that retries after one to nine days at random, or always after `days`. A customer's money
 * comes a week after the failure, so waiting recovers more. Ordered by invoice, oldest attempt first. The first attempts fail on
 * 150 days from `startMs` on.
 *
 * @param gaps  the numbers of days to draw from; with fewer, a strategy is estimated from fewer invoices
 */
export function createVariedHistory(
  invoices: number,
  startMs: number,
  days?: readonly number[],
  gaps: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8, 9],
): HistoryAttempt[] {
  const random = createRandom(11);
  return Array.from({ length: invoices }, (_, n) => {
    const start = startMs + (n % 150) * DAY_MS + 9 * 3_600_000;
    const attempt = (day: number, isPaid: boolean): HistoryAttempt => ({
      invoiceId: `inv_${n}`,
      customerId: `cus_${n}`,
      at: new Date(start + day * DAY_MS),
      isPaid,
      amount: 1000 + (n % 7) * 500,
    });
    const attempts = [attempt(0, false)];
    for (let tries = 0, day = 0; tries < 3 && !attempts.at(-1)!.isPaid; tries++) {
      day += days?.[tries] ?? gaps[Math.floor(random() * gaps.length)]!;
      attempts.push(attempt(day, random() < (day >= 7 ? 0.5 : 0.1)));
    }
    return attempts;
  }).flat();
}

/** Splits into batches of the API's size. */
export const splitIntoBatches = <Item>(items: readonly Item[], size = 200): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));
