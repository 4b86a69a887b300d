import type { Bill, World } from "./world.ts";

const DAY_MS = 86_400_000;

export interface PredictedRetry {
  bill: Bill;
  chance: number;
  approved: boolean;
}

/** In order of time, for a year's failed invoices. The prediction is made at the failure. */
export function predictRetries(world: World, seed: number, customers: number, days: number): PredictedRetry[] {
  const found: PredictedRetry[] = [];
  const waiting: { bill: Bill; at: Date; chance: number }[] = [];
  const tryUntil = (time: number) => {
    while (waiting.length > 0 && waiting[0]!.at.getTime() <= time) {
      const { bill, at, chance } = waiting.shift()!;
      found.push({ bill, chance, approved: world.charge(bill, at).approved });
    }
  };
  for (const bill of world.bills(seed, customers)) {
    tryUntil(bill.createdAt.getTime());
    if (bill.first.approved) continue;
    const at = new Date(bill.createdAt.getTime() + days * DAY_MS);
    waiting.push({ bill, at, chance: world.approval(bill, at) });
  }
  tryUntil(Number.POSITIVE_INFINITY);
  return found;
}

/** Signed mean: overall and by thirds of the probabilities. */
export function predictionErrors(retries: readonly PredictedRetry[]): number[] {
  const thirds = [0, 1 / 3, 2 / 3].map((low) =>
    retries.filter(({ chance }) => chance >= low && (chance < low + 1 / 3 || low > 0.6)),
  );
  return [retries, ...thirds].map(
    (each) => each.reduce((sum, { chance, approved }) => sum + chance - Number(approved), 0) / each.length,
  );
}

export function declineCodeShare(bills: readonly Bill[], ...codes: string[]): number {
  const declined = bills.filter(({ first }) => !first.approved);
  return declined.filter(({ first }) => codes.includes(first.networkDeclineCode!)).length / declined.length;
}

/**
 * Shares of cards that meet an outage while one customer does: of the same issuer and of all others. Every other customer's last
 * invoice is charged at that time.
 */
export function outageShares(world: World, seed: number, customers: number): { same: number; others: number } {
  const last = new Map<string, Bill>();
  const count = { same: 0, metSame: 0, others: 0, metOthers: 0 };
  const isOutage = (code?: string) => code === "91" || code === "96";
  for (const bill of world.bills(seed, customers)) {
    if (isOutage(bill.first.networkDeclineCode))
      for (const other of last.values()) {
        if (other.customerId === bill.customerId) continue;
        const isDown = Number(isOutage(world.charge(other, bill.createdAt).networkDeclineCode));
        const isSame = other.first.cardIssuer === bill.first.cardIssuer;
        count[isSame ? "same" : "others"]++;
        count[isSame ? "metSame" : "metOthers"] += isDown;
      }
    last.set(bill.customerId, bill);
  }
  return { same: count.metSame / count.same, others: count.metOthers / count.others };
}
