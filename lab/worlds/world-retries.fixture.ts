import type { Bill, World } from "./world.ts";

const DAY_MS = 86_400_000;

/** What a world foretold of one more try of each failed bill, and what came of it. */
export interface PredictedRetry {
  bill: Bill;
  chance: number;
  approved: boolean;
}

/** Every failed bill of a year is tried once more after so many days, each asked about when it failed, all in order of time. */
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

/** How far a world's chances are from what came of them, in the mean, signed: overall and by thirds of the chances. */
export function predictionErrors(tries: readonly PredictedRetry[]): number[] {
  const thirds = [0, 1 / 3, 2 / 3].map((low) =>
    tries.filter(({ chance }) => chance >= low && (chance < low + 1 / 3 || low > 0.6)),
  );
  return [tries, ...thirds].map(
    (each) => each.reduce((sum, { chance, approved }) => sum + chance - Number(approved), 0) / each.length,
  );
}

/** Share of declined first charges with one of the codes. */
export function declineCodeShare(bills: readonly Bill[], ...codes: string[]): number {
  const declined = bills.filter(({ first }) => !first.approved);
  return declined.filter(({ first }) => codes.includes(first.networkDeclineCode!)).length / declined.length;
}

/**
 * Shares of cards that meet an outage while one customer does: of the cards of its issuer, and of all others. Every other
 * customer's last bill is charged at that moment.
 */
export function outageShares(world: World, seed: number, customers: number): { same: number; others: number } {
  const last = new Map<string, Bill>();
  const count = { same: 0, metSame: 0, others: 0, metOthers: 0 };
  const isOutage = (code?: string) => code === "91" || code === "96";
  for (const bill of world.bills(seed, customers)) {
    if (isOutage(bill.first.networkDeclineCode))
      for (const other of last.values()) {
        if (other.customerId === bill.customerId) continue;
        const met = Number(isOutage(world.charge(other, bill.createdAt).networkDeclineCode));
        const isSame = other.first.cardIssuer === bill.first.cardIssuer;
        count[isSame ? "same" : "others"]++;
        count[isSame ? "metSame" : "metOthers"] += met;
      }
    last.set(bill.customerId, bill);
  }
  return { same: count.metSame / count.same, others: count.metOthers / count.others };
}
