import { oldCardCodeRate } from "../worlds/card-replacement.ts";
import { FRAUD_CODE_RATE, refusalRateAt } from "../worlds/consumers/answers.ts";
import {
  DEPARTURES_PER_YEAR,
  LEAVE_CODES,
  type Person,
  REPLACEMENT_ROUTES,
  REPLACEMENTS_PER_YEAR,
} from "../worlds/consumers/people.ts";
import {
  applyFailure,
  applyPayment,
  CARD_ENTRY_CHANCE,
  canPay,
  drawRushSteps,
  HOLD_LIFT_CHANCES,
  LONG_HOLD_RATE,
  type PersonFinances,
  type PersonState,
} from "../worlds/consumers/person-funds.ts";
import { findPayDayFrom, MAX_PAY_DAY_WAIT_DAYS, PAY_DAY_SIGN_UP_RATE } from "../worlds/consumers/subscriptions.ts";
import { CALENDAR } from "../worlds/consumers/year.ts";
import { cardAdvice, isTemporaryDecline } from "../worlds/decline-code-kinds.ts";
import { isOutageCode } from "../worlds/issuer-outages.ts";
import { chooseWeighted, DAY_MS } from "../worlds/keyed-uniform.ts";
import { STEPS_PER_DAY } from "../worlds/simulation-steps.ts";

export interface ObservedCharge {
  /** In ms. */
  at: number;
  /** Since the last charge that reached the issuer, on any subscription, else since the world began. */
  days: number;
  /** As `days`, else since the simulation began. */
  alarmed: number;
  /** Major units. */
  amount: number;
  /** null: approved. */
  code: string | null;
  advice: string | undefined;
  /** The customer's other cards seen before. */
  card: number;
  /** A strict issuer refuses everything after the earlier declines. */
  isBlocked: boolean;
  /** That a failure mail is read, relative to the customer's usual chance. */
  mail: number;
  /** In ms; 0 if there is no previous invoice or for a retry. */
  billedBefore: number;
  signedUp: number | null;
}

export interface CandidateLife {
  person: Person;
  /** Rare events are added only when an answer suggests one, so few lives explain any answer. */
  quiet: PersonFinances;
  state: PersonState;
  leftAt: number | null;
}

interface LifeHypothesis {
  chance: number;
  apply?: () => void;
}

export const createLife = (person: Person): CandidateLife => ({
  person,
  quiet: { ...person, alarms: 0 },
  state: { ...person.state },
  leftAt: null,
});

export const copyLife = (life: CandidateLife): CandidateLife => ({ ...life, state: { ...life.state } });

/**
 * The charge's likelihood. The life continues with a sampled hypothesis.
 *
 * @param draw  numbers in [0, 1)
 */
export function explainCharge(life: CandidateLife, charge: ObservedCharge, draw: () => number): number {
  const signUp = charge.signedUp === null ? 1 : signUpChance(life.person, charge.signedUp);
  if (isOutageCode(charge.code)) return signUp;
  const hypotheses = life.leftAt === null ? listHypotheses(life, charge, draw) : [explainEarlierLeaving(life, charge)];
  const total = hypotheses.reduce((sum, { chance }) => sum + chance, 0);
  if (total > 0)
    chooseWeighted(
      draw(),
      hypotheses.map((hypothesis) => [hypothesis, hypothesis.chance] as const),
    ).apply?.();
  return signUp * total;
}

function signUpChance(person: Person, at: number): number {
  const day = Math.floor(at / DAY_MS);
  if (day - MAX_PAY_DAY_WAIT_DAYS < CALENDAR.firstDay) return 1;
  const before = Array.from({ length: MAX_PAY_DAY_WAIT_DAYS }, (_, back) => day - back);
  return (
    1 -
    PAY_DAY_SIGN_UP_RATE +
    PAY_DAY_SIGN_UP_RATE * before.filter((each) => findPayDayFrom(person, each) === day).length
  );
}

function explainEarlierLeaving(
  { person, leftAt }: CandidateLife,
  { code, billedBefore }: ObservedCharge,
): LifeHypothesis {
  return { chance: Number(code === person.leaveCode && billedBefore < leftAt!) };
}

function listHypotheses(life: CandidateLife, charge: ObservedCharge, draw: () => number): LifeHypothesis[] {
  const { state } = life;
  if (charge.card < state.card) return [];
  const isNew = charge.card > state.card;
  const found = isNew ? newCardChance(state, charge.days) : 1;
  const onGood = (chance: number, apply?: () => void): LifeHypothesis => ({
    chance: found * chance,
    apply() {
      if (isNew) Object.assign(state, { card: charge.card, awaits: null, refusedFor: 0 });
      apply?.();
    },
  });
  const departure = explainLeaving(life, charge);
  if (state.awaits !== null && !isNew) {
    const isSame = charge.code === life.person.replacement.code;
    return [{ chance: isSame ? adviceChance(life.person, charge, state.awaits) : 0 }, departure];
  }
  return [
    onGood(usualAnswerChance(life, charge) * unchangedChance(life, charge)),
    onGood(departure.chance, departure.apply),
    ...explainHolds(life, charge).map(({ chance, apply }) => onGood(chance, apply)),
    ...explainRushes(life, charge, draw).map(({ chance, apply }) => onGood(chance, apply)),
    ...(isNew ? [] : explainOldCards(life, charge)),
  ];
}

const YEAR = 365;

function unchangedChance({ person, state }: CandidateLife, { days, alarmed }: ObservedCharge): number {
  const holdChance =
    state.hold === "none" ? heldChance(person, alarmed, "short") + heldChance(person, alarmed, "long") : 0;
  return (1 - holdChance) * (1 - (DEPARTURES_PER_YEAR * days) / YEAR);
}

const RENEWED_CHANCE = 0.05;

const newCardChance = ({ awaits }: PersonState, days: number) =>
  awaits === null
    ? (REPLACEMENTS_PER_YEAR * days * shareOfOption(REPLACEMENT_ROUTES, "silent")) / YEAR
    : RENEWED_CHANCE;

const shareOfOption = <T>(options: readonly (readonly [T, number])[], wanted: T) =>
  options.reduce((sum, [each, weight]) => sum + (each === wanted ? weight : 0), 0) /
  options.reduce((sum, [, weight]) => sum + weight, 0);

function usualAnswerChance({ person, state }: CandidateLife, { at, amount, code, isBlocked }: ObservedCharge): number {
  const chanceIf = (name: string | null) => Number(code === name);
  if (isBlocked) return chanceIf("05");
  if (state.hold !== "none") return FRAUD_CODE_RATE * chanceIf("59") + (1 - FRAUD_CODE_RATE) * chanceIf("05");
  const refusalRate = refusalRateAt(person, at);
  const { masks } = person.issuer;
  const isShort = state.balance < amount;
  const answer = () => {
    if (state.rush > 0) return chanceIf("65");
    if (isShort) return masks * chanceIf("05") + (1 - masks) * chanceIf("51");
    return chanceIf(canPay(person, state, amount) ? null : "61");
  };
  return refusalRate * chanceIf("05") + (1 - refusalRate) * answer();
}

function explainLeaving(life: CandidateLife, charge: ObservedCharge): LifeHypothesis {
  const { person, state } = life;
  const { at, days, code } = charge;
  const share = code === null ? 0 : shareOfOption<string>(LEAVE_CODES, code);
  return {
    chance: ((DEPARTURES_PER_YEAR * days) / YEAR) * share * adviceChance(person, charge, state.awaits),
    apply() {
      life.leftAt = at;
      life.person = { ...person, leaveCode: code! };
    },
  };
}

function heldChance({ alarms }: Person, days: number, hold: "short" | "long"): number {
  const steps = (1 - Math.exp(-HOLD_LIFT_CHANCES[hold] * days * STEPS_PER_DAY)) / HOLD_LIFT_CHANCES[hold];
  return alarms * (hold === "long" ? LONG_HOLD_RATE : 1 - LONG_HOLD_RATE) * steps;
}

function explainHolds(
  { person, state }: CandidateLife,
  { alarmed, code, isBlocked }: ObservedCharge,
): LifeHypothesis[] {
  if (state.hold !== "none" || isBlocked || (code !== "05" && code !== "59")) return [];
  const called = code === "59" ? FRAUD_CODE_RATE : 1 - FRAUD_CODE_RATE;
  return (["short", "long"] as const).map((hold) => ({
    chance: heldChance(person, alarmed, hold) * called,
    apply: () => (state.hold = hold),
  }));
}

/** An unmet rush can be met at any point, more likely the longer it lasts. */
function explainRushes(
  { person, state }: CandidateLife,
  { code }: ObservedCharge,
  draw: () => number,
): LifeHypothesis[] {
  if (code !== "65" || state.rush > 0 || person.rushes === 0) return [];
  const steps = drawRushSteps(draw());
  return [{ chance: person.rushes * steps, apply: () => (state.rush = 1 + Math.floor(steps * draw())) }];
}

/** Holders enter new cards without being asked. */
function expectedOldDays(days: number, route: string): number {
  const typed = CARD_ENTRY_CHANCE * 5;
  return route === "holder" ? (1 - Math.exp(-typed * days)) / typed : days;
}

function explainOldCards(life: CandidateLife, charge: ObservedCharge): LifeHypothesis[] {
  const { person, state } = life;
  const { code, days } = charge;
  if (code === null || state.card > 0) return [];
  return (["batch", "holder", "never"] as const).map((route) => ({
    chance:
      ((REPLACEMENTS_PER_YEAR * expectedOldDays(days, route)) / YEAR) *
      shareOfOption<string>(REPLACEMENT_ROUTES, route) *
      oldCardCodeRate(route, code) *
      adviceChance(person, charge, route),
    apply() {
      state.awaits = route;
      life.person = { ...person, replacement: { ...person.replacement, route, code } };
    },
  }));
}

function adviceChance({ issuer }: Person, { code, advice }: ObservedCharge, route: string | null): number {
  if (issuer.brand !== "mastercard" || code === null || isTemporaryDecline(code)) return 1;
  return (
    EVEN_DRAWS.filter((draw) => cardAdvice(code, route === "batch", draw) === (advice ?? null)).length /
    EVEN_DRAWS.length
  );
}

/** Evenly spread, to integrate laws that take a draw. */
const EVEN_DRAWS = Array.from({ length: 20 }, (_, n) => (n + 0.5) / 20);

export function applyCharge(
  { person, state, leftAt }: CandidateLife,
  { code, amount, mail }: ObservedCharge,
  draw: () => number,
) {
  if (code === null) {
    applyPayment(state, amount);
    return;
  }
  if (state.awaits !== null && code === person.replacement.code) state.refusedFor ||= 1;
  const isRead = isTemporaryDecline(code) && draw() < person.attention * mail;
  if (isRead && leftAt === null && state.noticedFor === 0) applyFailure(state, amount);
}
