import type { Invoice } from "../domain/invoice.ts";
import type { Transaction } from "../domain/transaction.ts";

export type Payment = Pick<Transaction, "invoiceId" | "state" | "amount" | "currency" | "createdAt" | "updatedAt">;

/** Two facts that cannot both be true. Amounts are in minor units. */
export type Conflict =
  | { kind: "paid_but_unpaid"; paid: number; currency: string; paidAt: Date; unpaidAt: Date }
  | { kind: "two_currencies"; currency: string; paid: number; paidCurrency: string }
  | { kind: "paid_too_much"; amount: number; paid: number; currency: string };

export interface Balance {
  /** Minor units of the invoice's currency, at least 0. */
  unpaidAmount: number;
  /** When the attempt that paid the last part was made; null if payments did not pay the invoice. */
  paidAt: Date | null;
  /** Until it is resolved, no retry and no request goes out. */
  conflict: Conflict | null;
}

/**
 * Computes an invoice's unpaid amount. See decision record 52.
 *
 * A payment counts if its attempt is PAID, in the invoice's currency, and not older than the invoice. A refunded payment counts
 * until a newer invoice version says otherwise: a refund alone is no reason to charge again.
 *
 * @param attempts  on any invoice, in any order
 */
export function computeBalance(invoice: Invoice, attempts: readonly Payment[]): Balance {
  const { id, amount, currency, createdAt, updatedAt: reportedAt } = invoice;
  const isCounted = (t: Payment) => t.state === "PAID" || (t.state === "REFUNDED" && t.updatedAt > reportedAt);
  const paid = attempts.filter((t) => t.invoiceId === id && isCounted(t) && t.updatedAt >= createdAt);
  const payments = paid.filter((t) => t.currency === currency);
  const sum = sumAmounts(payments);
  const due = reportedAmountDue(invoice, payments);
  const unpaidAmount = Math.max(0, due === null ? amount - sum : amountLeftAfter(due, invoice, payments));
  const isPaid = unpaidAmount === 0 && ((sum > 0 && sum >= amount) || (due !== null && due > 0));
  // A version that names the unpaid amount includes the payments before it.
  const isContradicted = isPaid && amount > 0 && due !== 0 && payments.every((t) => t.updatedAt < reportedAt);
  return {
    unpaidAmount,
    paidAt: isPaid ? findCompletionTime(payments, amount) : null,
    conflict:
      findCurrencyConflict(invoice, paid) ??
      findOverpayment(invoice, payments) ??
      (isContradicted
        ? { kind: "paid_but_unpaid", paid: sum, currency, paidAt: latestUpdate(payments), unpaidAt: reportedAt }
        : null),
  };
}

/** At the version's date; null if it names only the total. */
function reportedAmountDue(
  { state, amount, amountDue, updatedAt: reportedAt }: Invoice,
  payments: readonly Payment[],
): number | null {
  if (amountDue !== undefined) return amountDue;
  // A payment larger than the amount shows that the amount is the remainder; the total was never seen.
  const isRest = state === "PARTIALLY_PAID" && payments.some((t) => t.updatedAt <= reportedAt && t.amount > amount);
  return isRest ? amount : null;
}

/** Subtracts the payments that the version does not include. A negative result is an overpayment. */
function amountLeftAfter(due: number, invoice: Invoice, payments: readonly Payment[]): number {
  const { state, amount, amountDue, updatedAt: reportedAt } = invoice;
  const laterSum = sumAmounts(payments.filter((t) => t.updatedAt > reportedAt));
  const earlierSum = sumAmounts(payments.filter((t) => t.updatedAt < reportedAt));
  // Dates have whole seconds, so the amounts must show which payments from its own second the version includes.
  const tiedAmounts = payments.filter((t) => t.updatedAt.getTime() === reportedAt.getTime()).map((t) => t.amount);
  const isVersionComplete = amountDue !== undefined && hasSubsetWithSum(tiedAmounts, amount - due - earlierSum);
  // If they do not show it, the version includes none, so no amount is charged twice.
  const tiedSum = tiedAmounts
    .filter((tiedAmount) => tiedAmount <= due)
    .reduce((sum, tiedAmount) => sum + tiedAmount, 0);
  const unpaidAmount = isVersionComplete ? amount - sumAmounts(payments) : due - tiedSum - laterSum;
  return state === "UNPAID" ? Math.min(unpaidAmount, amount - sumAmounts(payments)) : unpaidAmount;
}

/** With more payments in one second, the combinations are too many to try. */
const MAX_TIED_PAYMENTS = 12;

/** An empty selection adds up to 0. */
function hasSubsetWithSum(amounts: readonly number[], sum: number): boolean {
  if (sum === 0) return true;
  const [firstAmount, ...otherAmounts] = amounts;
  if (firstAmount === undefined || sum < 0 || amounts.length > MAX_TIED_PAYMENTS) return false;
  return hasSubsetWithSum(otherAmounts, sum - firstAmount) || hasSubsetWithSum(otherAmounts, sum);
}

function findCurrencyConflict({ currency }: Invoice, paid: readonly Payment[]): Conflict | null {
  const other = paid.find((t) => t.currency !== currency);
  return other ? { kind: "two_currencies", currency, paid: other.amount, paidCurrency: other.currency } : null;
}

/** A payment larger than the invoice may be in another unit, or for another invoice. */
function findOverpayment({ amount, currency, state, updatedAt: reportedAt }: Invoice, payments: readonly Payment[]) {
  const isPart = (t: Payment) => state === "PARTIALLY_PAID" && t.updatedAt <= reportedAt;
  const overpayment = amount > 0 && payments.find((t) => t.amount > amount && !isPart(t));
  return overpayment ? ({ kind: "paid_too_much", amount, paid: overpayment.amount, currency } as const) : null;
}

const sumAmounts = (payments: readonly Payment[]) => payments.reduce((sum, { amount }) => sum + amount, 0);
const latestUpdate = (payments: readonly Payment[]) =>
  new Date(Math.max(...payments.map((t) => t.updatedAt.getTime())));

/** Returns when the payments reached the amount, or the last payment's date. */
function findCompletionTime(payments: readonly Payment[], amount: number): Date {
  const inOrder = [...payments].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  let sum = 0;
  const completing = inOrder.find((t) => {
    sum += t.amount;
    return sum >= amount;
  });
  return (completing ?? inOrder.at(-1)!).createdAt;
}
