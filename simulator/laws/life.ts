import { cardAdvice, isForNow } from "../worlds/codes.ts";
import { choose, DAY_MS } from "../worlds/coin.ts";
import { CALLED_FRAUD, refusedAt } from "../worlds/consumers/answers.ts";
import {
  LIFTED,
  LONG_HOLDS,
  type Means,
  notice,
  pay,
  pays,
  rushOf,
  type State,
  TYPED,
} from "../worlds/consumers/money.ts";
import { LEAVE_CODES, LEFT_A_YEAR, type Person, REPLACED_A_YEAR, WAYS } from "../worlds/consumers/people.ts";
import { ON_PAY_DAY, PAY_DAY_WITHIN, payDayFrom } from "../worlds/consumers/subscriptions.ts";
import { CALENDAR } from "../worlds/consumers/year.ts";
import { isOutage } from "../worlds/outages.ts";
import { oldCodeShare } from "../worlds/replacement.ts";
import { STEPS_A_DAY } from "../worlds/steps.ts";

/** What a merchant sees of a charge. */
export interface Seen {
  /** ms. */
  at: number;
  /** Days since the charge before that reached the issuer, on whichever of the customer's subscriptions, or since the world began. */
  days: number;
  /** The same, or since people live: issuers held cards before the world began. */
  alarmed: number;
  /** Major units. */
  amount: number;
  /** null: approved. */
  code: string | null;
  advice: string | undefined;
  /** How many other cards of the customer were seen before. */
  card: number;
  /** A strict issuer refuses everything, as the declines before say. */
  isBlocked: boolean;
  /** The chance that a mail about the failure is read, beside what is usual for the customer. */
  mail: number;
  /** When the subscription was billed before, ms; 0: never, or this is a retry. */
  billedBefore: number;
  /** When the subscription began, ms, with its first bill; else null. */
  signedUp: number | null;
}

/** A life that a customer may be living, by the laws of the world of consumers. */
export interface Life {
  person: Person;
  /**
   * The same person, as long as nothing rare happens: a hold, a new card and leaving are put in when an answer speaks of
   * them, so that few lives suffice for all that may be behind an answer.
   */
  quiet: Means;
  state: State;
  /** The charge that showed that the customer has left, ms; null: is still there. */
  leftAt: number | null;
}

/** Something that explains what was seen: how likely it is together with that, and what it changes. */
interface Way {
  chance: number;
  happens?: () => void;
}

export const lifeOf = (person: Person): Life => ({
  person,
  quiet: { ...person, alarms: 0 },
  state: { ...person.state },
  leftAt: null,
});

export const copyOf = (life: Life): Life => ({ ...life, state: { ...life.state } });

/**
 * How likely what was seen is in this life, in all ways together; it goes on with one of them.
 *
 * @param draw  numbers in [0, 1)
 */
export function explain(life: Life, seen: Seen, draw: () => number): number {
  const signUp = seen.signedUp === null ? 1 : signUpChance(life.person, seen.signedUp);
  if (isOutage(seen.code)) return signUp;
  const ways = life.leftAt === null ? waysOf(life, seen, draw) : [leftBefore(life, seen)];
  const total = ways.reduce((sum, { chance }) => sum + chance, 0);
  if (total > 0)
    choose(
      draw(),
      ways.map((way) => [way, way.chance] as const),
    ).happens?.();
  return signUp * total;
}

/** How likely a person is to have signed up on that day, beside other days. */
function signUpChance(person: Person, at: number): number {
  const day = Math.floor(at / DAY_MS);
  if (day - PAY_DAY_WITHIN < CALENDAR.firstDay) return 1;
  const before = Array.from({ length: PAY_DAY_WITHIN }, (_, back) => day - back);
  return 1 - ON_PAY_DAY + ON_PAY_DAY * before.filter((each) => payDayFrom(person, each) === day).length;
}

/** Whoever has left gets one more bill, and one code for everything. */
function leftBefore({ person, leftAt }: Life, { code, billedBefore }: Seen): Way {
  return { chance: Number(code === person.leaveCode && billedBefore < leftAt!) };
}

function waysOf(life: Life, seen: Seen, draw: () => number): Way[] {
  const { state } = life;
  if (seen.card < state.card) return [];
  const isNew = seen.card > state.card;
  const found = isNew ? newCardChance(state, seen.days) : 1;
  /** What happens to a card that works, or would. */
  const onGood = (chance: number, happens?: () => void): Way => ({
    chance: found * chance,
    happens() {
      if (isNew) Object.assign(state, { card: seen.card, awaits: null, refusedFor: 0 });
      happens?.();
    },
  });
  const left = leaving(life, seen);
  if (state.awaits !== null && !isNew) {
    const isSame = seen.code === life.person.replacement.code;
    return [{ chance: isSame ? adviceChance(life.person, seen, state.awaits) : 0 }, left];
  }
  return [
    onGood(usualChance(life, seen) * unchanged(life, seen)),
    onGood(left.chance, left.happens),
    ...holds(life, seen).map(({ chance, happens }) => onGood(chance, happens)),
    ...rushes(life, seen, draw).map(({ chance, happens }) => onGood(chance, happens)),
    ...(isNew ? [] : oldCards(life, seen)),
  ];
}

const YEAR = 365;

/** Nobody has left and no hold has come since the charge before: those whose cards are held often are seldom found so. */
function unchanged({ person, state }: Life, { days, alarmed }: Seen): number {
  const held = state.hold === "none" ? heldChance(person, alarmed, "short") + heldChance(person, alarmed, "long") : 0;
  return (1 - held) * (1 - (LEFT_A_YEAR * days) / YEAR);
}

/** That a card which is known to be old was renewed since. */
const RENEWED = 0.05;

const newCardChance = ({ awaits }: State, days: number) =>
  awaits === null ? (REPLACED_A_YEAR * days * shareOf(WAYS, "silent")) / YEAR : RENEWED;

const shareOf = <T>(of: readonly (readonly [T, number])[], one: T) =>
  of.reduce((sum, [each, weight]) => sum + (each === one ? weight : 0), 0) /
  of.reduce((sum, [, weight]) => sum + weight, 0);

/** Of an answer where nothing rare is behind it. */
function usualChance({ person, state }: Life, { at, amount, code, isBlocked }: Seen): number {
  const only = (name: string | null) => Number(code === name);
  if (isBlocked) return only("05");
  if (state.hold !== "none") return CALLED_FRAUD * only("59") + (1 - CALLED_FRAUD) * only("05");
  const refused = refusedAt(person, at);
  const { masks } = person.issuer;
  const isShort = state.balance < amount;
  const answer = () => {
    if (state.rush > 0) return only("65");
    if (isShort) return masks * only("05") + (1 - masks) * only("51");
    return only(pays(person, state, amount) ? null : "61");
  };
  return refused * only("05") + (1 - refused) * answer();
}

function leaving(life: Life, seen: Seen): Way {
  const { person, state } = life;
  const { at, days, code } = seen;
  const share = code === null ? 0 : shareOf<string>(LEAVE_CODES, code);
  return {
    chance: ((LEFT_A_YEAR * days) / YEAR) * share * adviceChance(person, seen, state.awaits),
    happens() {
      life.leftAt = at;
      life.person = { ...person, leaveCode: code! };
    },
  };
}

/** That a hold has come within so many days and is still there. */
function heldChance({ alarms }: Person, days: number, hold: "short" | "long"): number {
  const steps = (1 - Math.exp(-LIFTED[hold] * days * STEPS_A_DAY)) / LIFTED[hold];
  return alarms * (hold === "long" ? LONG_HOLDS : 1 - LONG_HOLDS) * steps;
}

/** The issuer has held the card since the last charge, and does still. */
function holds({ person, state }: Life, { alarmed, code, isBlocked }: Seen): Way[] {
  if (state.hold !== "none" || isBlocked || (code !== "05" && code !== "59")) return [];
  const called = code === "59" ? CALLED_FRAUD : 1 - CALLED_FRAUD;
  return (["short", "long"] as const).map((hold) => ({
    chance: heldChance(person, alarmed, hold) * called,
    happens: () => (state.hold = hold),
  }));
}

/** A rush that this life has not met: the longer it lasts, the likelier it is met, at any moment of it. */
function rushes({ person, state }: Life, { code }: Seen, draw: () => number): Way[] {
  if (code !== "65" || state.rush > 0 || person.rushes === 0) return [];
  const steps = rushOf(draw());
  return [{ chance: person.rushes * steps, happens: () => (state.rush = 1 + Math.floor(steps * draw())) }];
}

/** Of how many days a card that was replaced in them is still the old one: holders type new ones in without being asked. */
function oldFor(days: number, way: string): number {
  const typed = TYPED * 5;
  return way === "holder" ? (1 - Math.exp(-typed * days)) / typed : days;
}

/** The card was replaced since the last charge, and the merchant has the old one. */
function oldCards(life: Life, seen: Seen): Way[] {
  const { person, state } = life;
  const { code, days } = seen;
  if (code === null || state.card > 0) return [];
  return (["batch", "holder", "never"] as const).map((way) => ({
    chance:
      ((REPLACED_A_YEAR * oldFor(days, way)) / YEAR) *
      shareOf<string>(WAYS, way) *
      oldCodeShare(way, code) *
      adviceChance(person, seen, way),
    happens() {
      state.awaits = way;
      life.person = { ...person, replacement: { ...person.replacement, way, code } };
    },
  }));
}

/** Of the advice that comes with the code of a card that is gone or replaced. */
function adviceChance({ issuer }: Person, { code, advice }: Seen, way: string | null): number {
  if (issuer.brand !== "mastercard" || code === null || isForNow(code)) return 1;
  return DRAWS.filter((draw) => cardAdvice(code, way === "batch", draw) === (advice ?? null)).length / DRAWS.length;
}

/** Evenly spread, for shares of laws that take a draw. */
const DRAWS = Array.from({ length: 20 }, (_, n) => (n + 0.5) / 20);

/** What a charge changes in a life that explains it. */
export function suffer({ person, state, leftAt }: Life, { code, amount, mail }: Seen, draw: () => number) {
  if (code === null) {
    pay(state, amount);
    return;
  }
  if (state.awaits !== null && code === person.replacement.code) state.refusedFor ||= 1;
  const isRead = isForNow(code) && draw() < person.attention * mail;
  if (isRead && leftAt === null && state.noticedFor === 0) notice(state, amount);
}
