import { DAY_MS, HOUR_MS, keyedRandom } from "../../../simulator/world/keyed-random.ts";
import type { Transaction } from "../../../src/domain/transaction.ts";

/** Attempts on an invoice outside the merchant's billing, by a person in an office who repeats them. */
export interface ManualPayer {
  /** When the next attempt is made; null if there is none. */
  nextAt(): Date | null;
  /** Receives a failed charge, which the person may start to retry. */
  notice(transaction: Transaction): void;
  /** Returns the attempts made up to `now`, on invoices that are still unpaid. */
  attempts(now: Date): Transaction[];
}

const MANUAL_RATE = 0.2;

export function createManualPayer(seed: number, isUnpaid: (invoiceId: string) => boolean): ManualPayer {
  let planned: Transaction[] = [];
  const seen = new Set<string>();
  let made = 0;

  return {
    nextAt: () =>
      planned.reduce<Date | null>(
        (first, { createdAt }) => (first === null || createdAt < first ? createdAt : first),
        null,
      ),
    notice(transaction) {
      const { invoiceId } = transaction;
      if (transaction.state !== "FAILED" || transaction.cardFingerprint === undefined || seen.has(invoiceId)) return;
      seen.add(invoiceId);
      const draw = (what: string) => keyedRandom(seed, what, invoiceId);
      if (draw("stranger") >= MANUAL_RATE) return;
      // Either nine to eleven in a day, which meets Mastercard's limit, or 15 to 22 over some days, which meets Visa's.
      const isBurst = draw("burst") < 0.4;
      const count = isBurst ? 9 + Math.floor(draw("count") * 3) : 15 + Math.floor(draw("count") * 8);
      const spanMs = isBurst ? 15 * HOUR_MS : (2 + 8 * draw("span")) * DAY_MS;
      for (let n = 1; n <= count; n++) {
        const at = new Date(Math.ceil(transaction.createdAt.getTime() + (spanMs * n) / count));
        const { recoveryActionId, networkAdviceCode, ...rest } = transaction;
        planned.push({
          ...rest,
          id: `desk_${String(++made).padStart(5, "0")}`,
          initiator: "MERCHANT_MANUAL",
          networkDeclineCode: "51",
          paymentGatewayErrorCode: "insufficient_funds",
          createdAt: at,
          updatedAt: at,
        });
      }
    },
    attempts(now) {
      const due = planned.filter(({ createdAt }) => createdAt <= now);
      planned = planned.filter(({ createdAt }) => createdAt > now);
      return due.filter(({ invoiceId }) => isUnpaid(invoiceId));
    },
  };
}
