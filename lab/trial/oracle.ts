import { HOUR_MS } from "../../src/domain/durations.ts";
import type { Bill, World } from "../worlds/world.ts";
import { type Choice, findRules, type OpenCase, type Policy, type Rules } from "./policy.ts";
import { retryValueOfInvoice } from "./trial-money.ts";

const SLOT_MS = 4 * HOUR_MS;
const SLOTS_PER_DAY = 6;
/** Six retries may have to fit into one day. */
const MAX_FULL_SEARCH_DAYS = 4;

/**
 * Plans on the true chances. Knows the present, not future draws. Each chance assumes that every earlier attempt of the plan failed:
 * where causes persist, a failure tells much about the next attempt.
 */
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
        Math.min(open.retriesLeft, rules.retriesMax),
      );
    },
  };
}

function listAllowedSlots(open: OpenCase, rules: Rules, now: number): number[] {
  const slots: number[] = [];
  for (let at = now + SLOT_MS; at < open.endsAt; at += SLOT_MS) if (rules.allow(at)) slots.push(at);
  return slots;
}

function bestSlots(slots: readonly number[], chances: readonly number[], slotsPerGroup: number) {
  const found: { at: number; chance: number }[] = [];
  for (let n = 0; n < slots.length; n += slotsPerGroup) {
    let best = n;
    for (let m = n; m < Math.min(n + slotsPerGroup, slots.length); m++)
      if (chances[m]! > chances[best]! + 1e-6) best = m;
    found.push({ at: slots[best]!, chance: chances[best]! });
  }
  return found;
}

interface Day {
  at: number;
  chance: number;
}

function planRetry(world: World, bill: Bill, days: readonly Day[], retriesLeft: number): Choice | null {
  const { cost, valueAt } = retryValueOfInvoice(bill);
  const values = days.map(({ at }) => valueAt(at));
  const planValue = (day: number, chance: number, rest: number) => chance * values[day]! - cost + (1 - chance) * rest;
  /** The value of the retries after the failed ones, from `start` on; each is the best if later ones were independent. */
  const continueAfter = (tried: readonly Date[], start: number, retriesLeft: number): number => {
    if (retriesLeft === 0 || start === days.length) return 0;
    const chances = days.slice(start).map(({ at }) => world.approval(bill, new Date(at), tried));
    const rest = computeRestValues(values.slice(start), chances, retriesLeft - 1, cost);
    let best = -1;
    let most = 0;
    for (let n = 0; n < chances.length; n++) {
      const value = planValue(start + n, chances[n]!, rest[n + 1]!);
      if (value > most) [best, most] = [n, value];
    }
    if (best === -1) return 0;
    const day = start + best;
    const later = continueAfter([...tried, new Date(days[day]!.at)], day + 1, retriesLeft - 1);
    return Math.max(0, planValue(day, chances[best]!, later));
  };
  const laterRetries = retriesLeft - 1;
  // Failed attempts lower the chances, so these bound the value. Most days can be skipped.
  const upperValues = computeRestValues(
    values,
    days.map(({ chance }) => chance),
    laterRetries,
    cost,
  );
  const bounds = days.map(({ chance }, day) => planValue(day, chance, upperValues[day + 1]!));
  const order = days.map((_, day) => day).sort((a, b) => bounds[b]! - bounds[a]!);
  let found: Choice | null = null;
  let most = 0;
  for (const day of order) {
    if (bounds[day]! <= most) break;
    const { at, chance } = days[day]!;
    const value = planValue(day, chance, continueAfter([new Date(at)], day + 1, laterRetries));
    if (value <= most) continue;
    most = value;
    found = { at, chance };
  }
  return found;
}

/** From each day on, if retries are independent. */
function computeRestValues(
  values: readonly number[],
  chances: readonly number[],
  retryCount: number,
  cost: number,
): Float64Array {
  let now = new Float64Array(values.length + 1);
  for (let retriesLeft = 1; retriesLeft <= retryCount; retriesLeft++) {
    const value = new Float64Array(values.length + 1);
    for (let day = values.length - 1; day >= 0; day--) {
      const chance = chances[day]!;
      value[day] = Math.max(value[day + 1]!, chance * values[day]! - cost + (1 - chance) * now[day + 1]!);
    }
    now = value;
  }
  return now;
}
