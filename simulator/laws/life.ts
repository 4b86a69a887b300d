import { isForNow } from "../worlds/codes.ts";
import { choose } from "../worlds/coin.ts";
import { CALLED_FRAUD, refusedAt } from "../worlds/consumers/answers.ts";
import { LIFTED, LONG_HOLDS, type Means, notice, pay, pays, type State } from "../worlds/consumers/money.ts";
import { LEAVE_CODES, LEFT_A_YEAR, type Person, REPLACED_A_YEAR, WAYS } from "../worlds/consumers/people.ts";
import { STEPS_A_DAY } from "../worlds/steps.ts";

/** What a merchant sees of a charge. */
export interface Seen {
  /** ms. */
  at: number;
  /** Days since the charge before, on whichever of the customer's subscriptions, or since the world began. */
  days: number;
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
  if (seen.code === "91" || seen.code === "96") return 1;
  const ways = life.leftAt === null ? waysOf(life, seen, draw) : [leftBefore(life, seen)];
  const total = ways.reduce((sum, { chance }) => sum + chance, 0);
  if (total > 0)
    choose(
      draw(),
      ways.map((way) => [way, way.chance] as const),
    ).happens?.();
  return total;
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
    onGood(usualChance(life, seen)),
    onGood(left.chance, left.happens),
    ...holds(life, seen).map(({ chance, happens }) => onGood(chance, happens)),
    ...rushes(life, seen, draw).map(({ chance, happens }) => onGood(chance, happens)),
    ...(isNew ? [] : oldCards(life, seen)),
  ];
}

const YEAR = 365;
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

function leaving(life: Life, { at, days, code }: Seen): Way {
  const { person } = life;
  const share = code === null ? 0 : shareOf<string>(LEAVE_CODES, code);
  return {
    chance: ((LEFT_A_YEAR * days) / YEAR) * share,
    happens() {
      life.leftAt = at;
      life.person = { ...person, leaveCode: code! };
    },
  };
}

/** The issuer has held the card since the last charge, and does still. */
function holds({ person, state }: Life, { days, code, isBlocked }: Seen): Way[] {
  if (state.hold !== "none" || isBlocked || (code !== "05" && code !== "59")) return [];
  const called = code === "59" ? CALLED_FRAUD : 1 - CALLED_FRAUD;
  return (["short", "long"] as const).map((hold) => {
    const share = hold === "long" ? LONG_HOLDS : 1 - LONG_HOLDS;
    const steps = (1 - Math.exp(-LIFTED[hold] * days * STEPS_A_DAY)) / LIFTED[hold];
    return { chance: person.alarms * share * steps * called, happens: () => (state.hold = hold) };
  });
}

/** Share of the time in which a card that is used in rushes is in one, and how many steps a rush lasts at most. */
const RUSHING = 0.06;
const RUSH_MAX = 23;

function rushes({ person, state }: Life, { code }: Seen, draw: () => number): Way[] {
  if (code !== "65" || state.rush > 0 || person.rushes === 0) return [];
  return [{ chance: RUSHING, happens: () => (state.rush = 1 + Math.floor(RUSH_MAX * draw())) }];
}

/** Codes of a card that was replaced, and how often a way has each: as in `replacementOf`. */
const OLD_CODES: Readonly<Record<string, { never: number; else: number }>> = {
  "54": { never: 0, else: 0.83 },
  "14": { never: 0.5, else: 0.17 },
  "41": { never: 0.25, else: 0 },
  "43": { never: 0.25, else: 0 },
};

/** The card was replaced since the last charge, and the merchant has the old one. */
function oldCards(life: Life, seen: Seen): Way[] {
  const { person, state } = life;
  const shares = OLD_CODES[seen.code ?? ""];
  if (!shares || state.card > 0) return [];
  return (["batch", "holder", "never"] as const).map((way) => ({
    chance:
      ((REPLACED_A_YEAR * seen.days) / YEAR) *
      shareOf<string>(WAYS, way) *
      (way === "never" ? shares.never : shares.else) *
      adviceChance(person, seen, way),
    happens() {
      state.awaits = way;
      life.person = { ...person, replacement: { ...person.replacement, way, code: seen.code! } };
    },
  }));
}

/** Of the advice that comes with the code of an old card: as in `cardAdvice`. */
function adviceChance({ issuer }: Person, { code, advice }: Seen, way: string): number {
  if (issuer.brand !== "mastercard") return 1;
  if (code !== "54") return advice === "03" ? 0.7 : 0.3;
  if (way !== "batch") return Number(advice !== "01");
  return 0.5;
}

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
