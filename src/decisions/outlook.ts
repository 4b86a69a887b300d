import type { Account, Prospect } from "../domain/decision.ts";
import type { Belief } from "../model/belief.ts";
import { classOf } from "../model/layout.ts";
import type { Learned } from "../model/learned.ts";
import { phi, probit } from "../model/normal.ts";
import { chanceOf } from "../model/observe.ts";
import { trimmed } from "../model/trim.ts";
import { type ChosenTry, SLOT_MS, SLOT_START_MS, SOONEST_MS, type TryQuestion, type Weighed } from "./choose-try.ts";
import { judge, worthOfNext } from "./plan-tries.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const SLOTS_A_DAY = DAY_MS / SLOT_MS;
const EVEN_TRIES = 6;

/** What else could have been done, and what it would have been worth by the same model. */
export type Outlook = Pick<Account, "days" | "hours" | "even">;

/**
 * The alternatives to a try that was chosen. Chances are calibrated. Days are weighed as they were when it was chosen; the
 * comparison with even tries counts what a try costs, no more.
 *
 * @param unpaidAt  start of the window, from which six even tries would be spread
 */
export function outlookOf(
  learned: Learned,
  belief: Belief,
  question: TryQuestion,
  chosen: ChosenTry,
  unpaidAt: number,
): Outlook {
  const of = classOf(belief.reason);
  const calibrated = (chance: number) => rounded(trimmed(learned, of, chance));
  return {
    days: bestOfEach(prospects(learned, belief, chosen, calibrated), belief.offsetMs),
    hours: hoursOf(learned, belief, question, chosen, calibrated),
    even: evenTries(chosen.weighed, question, unpaidAt),
  };
}

/** The slots that the plan was chosen from, each in place of its next try. */
function prospects(
  learned: Learned,
  belief: Belief,
  { at: chosenAt, weighed: { forecast, plan, stakes, worth: known } }: ChosenTry,
  calibrated: (chance: number) => number,
) {
  const { slots, chances } = forecast;
  const worth = known ?? worthOfNext(forecast, plan, stakes, plan.picked);
  // A forecast is off by much the same at all slots, so what is true of the chosen one corrects the others.
  const excess = probit(chances[slots.indexOf(chosenAt)]!) - probit(chanceOf(learned, belief, chosenAt));
  return plan.picked.map((slot, n) => ({
    at: new Date(slots[slot]!),
    chance: calibrated(phi(probit(chances[slot]!) - excess)),
    worth: rounded(worth[n]!),
  }));
}

/** Nobody reads more digits, and each is stored with every decision. */
const rounded = (share: number) => Math.round(share * 10_000) / 10_000;

/** One of each local day: the first day has several. */
function bestOfEach(days: readonly Prospect[], offsetMs: number): Prospect[] {
  const byDay = Map.groupBy(days, ({ at }) => Math.floor((at.getTime() + offsetMs) / DAY_MS));
  return [...byDay.values()].map((some) => some.reduce((best, each) => (each.worth > best.worth ? each : best)));
}

/** Every fourth hour of the day of a moment, as far as a try is allowed then. */
function hoursOf(
  learned: Learned,
  belief: Belief,
  question: TryQuestion,
  { at: chosenAt, weighed: { stakes } }: ChosenTry,
  calibrated: (chance: number) => number,
): Prospect[] {
  const start = Math.floor((chosenAt + belief.offsetMs) / DAY_MS) * DAY_MS + SLOT_START_MS - belief.offsetMs;
  const slots = Array.from({ length: SLOTS_A_DAY }, (_, n) => start + n * SLOT_MS).filter(
    (at) => at >= question.now + SOONEST_MS && at < question.windowEndsAt && question.allow(at),
  );
  return slots.map((at) => {
    const chance = chanceOf(learned, belief, at);
    return { at: new Date(at), chance: calibrated(chance), worth: rounded(chance * stakes.worthAt(at) - stakes.cost) };
  });
}

/** Six tries spread evenly over the window, the last one an hour before its end: those that are still to come, and allowed. */
function evenTries(weighed: Weighed, question: TryQuestion, unpaidAt: number): Account["even"] {
  const { windowEndsAt, triesLeft, stakes } = question;
  const { forecast, plan } = weighed;
  const wanted = Array.from(
    { length: EVEN_TRIES },
    (_, n) => unpaidAt + ((windowEndsAt - unpaidAt) * (n + 1)) / EVEN_TRIES - (n + 1 === EVEN_TRIES ? HOUR_MS : 0),
  ).filter((at) => at >= question.now + SOONEST_MS && question.allow(at));
  const tries = [...new Set(wanted.slice(0, triesLeft).map((at) => nearest(forecast.slots, at)))];
  const [even, planned] = judge(forecast, [tries, plan.slots], stakes);
  const dates = (slots: readonly number[]) => slots.map((slot) => new Date(forecast.slots[slot]!));
  return {
    tries: dates(tries),
    recovers: rounded(even!.recovers),
    worth: rounded(even!.worth),
    plan: dates(plan.slots),
    planRecovers: rounded(planned!.recovers),
    planWorth: rounded(planned!.worth),
  };
}

function nearest(slots: readonly number[], at: number): number {
  let best = 0;
  for (let slot = 1; slot < slots.length; slot++)
    if (Math.abs(slots[slot]! - at) < Math.abs(slots[best]! - at)) best = slot;
  return best;
}
