import { DAY_MS } from "../../src/domain/durations.ts";
import { PAY_CYCLES } from "../../src/engine/learned/pay-cycles.ts";
import type { Bill, World } from "../worlds/world.ts";

const YEAR_DAYS = 365;
const OTHER_CYCLE_SHARE = 1e-5;

/** As probabilities of the model's cycles, nearly all on those that agree best over a year. Null if unknowable. */
export function createPayDayTeller(world: World): (bill: Bill) => Float64Array | null {
  const cyclesByCustomer = new Map<string, Float64Array | null>();
  return (bill) => {
    let cycles = cyclesByCustomer.get(bill.customerId);
    if (cycles === undefined) {
      const isPayDay = world.payDays?.(bill) ?? null;
      cycles = isPayDay && cycleChancesOf(isPayDay, Math.floor(bill.createdAt.getTime() / DAY_MS));
      cyclesByCustomer.set(bill.customerId, cycles);
    }
    return cycles;
  };
}

function cycleChancesOf(isPayDay: (day: number) => boolean, from: number): Float64Array {
  const days = Array.from({ length: YEAR_DAYS }, (_, n) => from + n);
  const agreement = PAY_CYCLES.map(({ pays }) => {
    const either = days.filter((day) => pays(day) || isPayDay(day));
    return either.filter((day) => pays(day) && isPayDay(day)).length / Math.max(1, either.length);
  });
  const best = Math.max(...agreement);
  const weights = Float64Array.from(agreement, (share) => (share === best ? 1 : OTHER_CYCLE_SHARE));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}
