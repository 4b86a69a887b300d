import { HOUR_MS } from "../../src/domain/durations.ts";
import type { Bill, World } from "../worlds/world.ts";
import { type Choice, findRules, type OpenCase, type Policy, type Rules } from "./policy.ts";
import { retryValueOfInvoice } from "./trial-money.ts";

const SLOT_MS = 4 * HOUR_MS;
const SLOTS_PER_DAY = 6;
/** In short windows every slot counts, because six retries may have to fit into one day. */
const MAX_FULL_SEARCH_DAYS = 4;

/** Plans on the true chances, by dynamic programming over slots and retries left. It knows the present, not future draws. */
export function oracle(world: World): Policy {
  return {
    next(open, now) {
      const rules = findRules(open);
      const slots = listAllowedSlots(open, rules, now);
      if (slots.length === 0) return null;
      const chances = slots.map((at) => world.approval(open.bill, new Date(at)));
      return planRetry(
        world,
        open.bill,
        bestSlots(slots, chances, open.bill.windowDays <= MAX_FULL_SEARCH_DAYS ? 1 : SLOTS_PER_DAY),
        Math.min(open.triesLeft, rules.triesMax),
      );
    },
  };
}

function listAllowedSlots(open: OpenCase, rules: Rules, now: number): number[] {
  const slots: number[] = [];
  for (let at = now + SLOT_MS; at < open.endsAt; at += SLOT_MS) if (rules.allow(at)) slots.push(at);
  return slots;
}

function bestSlots(slots: readonly number[], chances: readonly number[], together: number) {
  const found: { at: number; chance: number }[] = [];
  for (let n = 0; n < slots.length; n += together) {
    let top = n;
    for (let m = n; m < Math.min(n + together, slots.length); m++) if (chances[m]! > chances[top]! + 1e-6) top = m;
    found.push({ at: slots[top]!, chance: chances[top]! });
  }
  return found;
}

function planRetry(
  world: World,
  bill: Bill,
  days: readonly { at: number; chance: number }[],
  left: number,
): Choice | null {
  const { cost, valueAt } = retryValueOfInvoice(bill);
  const worth = days.map(({ at }) => valueAt(at));
  const worthOf = (day: number, rest: number) =>
    days[day]!.chance * worth[day]! - cost + (1 - days[day]!.chance) * rest;
  const tries = left - 1;
  // A failed attempt lowers the chances, so these bound the value. Most days can be skipped.
  const hopeful = computeRestValues(
    worth,
    days.map(({ chance }) => chance),
    tries,
    cost,
  );
  const bounds = days.map((_, day) => worthOf(day, hopeful[day + 1]!));
  const order = days.map((_, day) => day).sort((a, b) => bounds[b]! - bounds[a]!);
  let found: Choice | null = null;
  let most = 0;
  for (const day of order) {
    if (bounds[day]! <= most) break;
    const { at, chance } = days[day]!;
    const failed = [new Date(at)];
    const later = days.slice(day + 1).map((other) => world.approval(bill, new Date(other.at), failed));
    const value = worthOf(day, computeRestValues(worth.slice(day + 1), later, tries, cost)[0]!);
    if (value <= most) continue;
    most = value;
    found = { at, chance };
  }
  return found;
}

/** Values of the best plans from each day on, if retries are independent. */
function computeRestValues(
  worth: readonly number[],
  chances: readonly number[],
  tries: number,
  cost: number,
): Float64Array {
  let now = new Float64Array(worth.length + 1);
  for (let left = 1; left <= tries; left++) {
    const value = new Float64Array(worth.length + 1);
    for (let day = worth.length - 1; day >= 0; day--) {
      const chance = chances[day]!;
      value[day] = Math.max(value[day + 1]!, chance * worth[day]! - cost + (1 - chance) * now[day + 1]!);
    }
    now = value;
  }
  return now;
}
