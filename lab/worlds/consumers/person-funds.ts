import { advanceRenewal, type CardState, newCardState } from "../card-replacement.ts";
import type { RandomStream } from "../random-stream.ts";
import { STEP_MS, STEPS_PER_DAY } from "../simulation-steps.ts";
import { calendarDayOf, hourOf, toLocalTime } from "../world-calendar.ts";
import { CALENDAR, SPENDING_BY_DAY } from "./year.ts";

/** Amounts in major units; chances per step of three hours unless noted. */
export interface PersonFinances {
  /** Local time minus UTC in ms, by calendar day. */
  offsets: Float64Array;
  work: Uint8Array;
  payDays: Uint8Array;
  wage: number;
  postsIn: number;
  punctual: number;
  hasBonus: boolean;
  grantDays: Uint8Array;
  grant: number;
  job: number;
  jobs: readonly number[];
  /** Per month. */
  income: number;
  rate: number;
  cushion: number;
  surprises: number;
  season: number;
  /** Chance after a failure, and the steps until it has fallen to a third. */
  haste: number;
  forgets: number;
  alarms: number;
  /** Per day. */
  dayLimit: number;
  /** The issuer accepts no more payments in a row. */
  rushes: number;
}

export interface PersonState extends CardState {
  balance: number;
  day: number;
  spent: number;
  isPaySoon: boolean;
  isBooked: boolean;
  noticedFor: number;
  missing: number;
  hold: "none" | "short" | "clearing" | "long";
  /** Steps left. */
  rush: number;
}

export const newPersonState = (): PersonState => ({
  ...newCardState(),
  balance: 0,
  day: -1,
  spent: 0,
  isPaySoon: false,
  isBooked: true,
  noticedFor: 0,
  missing: 0,
  hold: "none",
  rush: 0,
});

export interface LocalStep {
  day: number;
  weekday: number;
  hour: number;
  /** 0 to 7. */
  step: number;
  works: boolean;
  isBonusTime: boolean;
  /** Relative spending. */
  busy: number;
}

export function localStepOf({ offsets, work, season }: PersonFinances, step: number): LocalStep {
  const local = toLocalTime(CALENDAR, offsets, step * STEP_MS);
  const day = calendarDayOf(CALENDAR, local);
  const hour = hourOf(local);
  const weekday = CALENDAR.weekday[day]!;
  const usual = SPENDING_BY_DAY[day]!;
  return {
    day,
    weekday,
    hour,
    step: Math.floor((hour * STEPS_PER_DAY) / 24),
    works: work[day] === 1,
    isBonusTime: CALENDAR.month[day] === 12 && CALENDAR.date[day]! > 9,
    busy: (weekday === 5 || weekday === 6 ? 1.45 : weekday === 0 ? 1.1 : 0.8) * (usual === 1 ? 1 : usual ** season),
  };
}

export const CARD_ENTRY_CHANCE = 0.03;

export function advanceStep(finances: PersonFinances, state: PersonState, localStep: LocalStep, random: RandomStream) {
  const { hour } = localStep;
  if (localStep.day !== state.day) beginDay(finances, state, localStep, random);
  receivePay(finances, state, localStep, random);
  if (hour >= 6) spendMoney(finances, state, localStep, random);
  if (state.rush > 0) state.rush--;
  if (state.noticedFor > 0) topUp(finances, state, localStep, random);
  updateHold(finances, state, random);
  if (state.awaits === null) return;
  const typed = hour >= 8 ? CARD_ENTRY_CHANCE * Math.exp(-state.refusedFor / STEPS_PER_DAY / 9) : 0;
  advanceRenewal(state, localStep.step === 1, typed, random);
}

function beginDay(finances: PersonFinances, state: PersonState, { day }: LocalStep, random: RandomStream) {
  state.day = day;
  state.spent = 0;
  if (finances.payDays[day]) state.isPaySoon = true;
  if (finances.grantDays[day] && random.draw() < 0.97) state.balance += finances.grant;
  if (finances.job > 0 && random.draw() < (state.isBooked ? 1 / 24 : 1 / 8)) state.isBooked = !state.isBooked;
}

function receivePay(finances: PersonFinances, state: PersonState, localStep: LocalStep, random: RandomStream) {
  if (state.isPaySoon && localStep.step === finances.postsIn && localStep.works && random.draw() < finances.punctual) {
    state.isPaySoon = false;
    const bonus = finances.hasBonus && localStep.isBonusTime ? 1.6 : 1;
    state.balance += Math.max(0, finances.wage * (1 + 0.1 * random.bell()) * bonus);
  }
  const chance = (finances.jobs[localStep.weekday]! * (state.isBooked ? 1 : 0.12)) / 5;
  if (finances.job > 0 && localStep.hour >= 9 && random.draw() < chance)
    state.balance += finances.job * Math.exp(0.6 * random.bell() - 0.18);
}

function spendMoney(finances: PersonFinances, state: PersonState, { busy }: LocalStep, random: RandomStream) {
  if (state.balance > finances.cushion) {
    const share = 1 - Math.exp((-finances.rate / 6) * busy * (0.2 + 1.6 * random.draw()));
    const spent = (state.balance - finances.cushion) * share;
    state.balance -= spent;
    state.spent += spent * 0.6;
  }
  state.balance -= Math.min(state.balance, (finances.income / 30) * 0.02 * (0.5 + random.draw()));
  if (random.draw() < finances.surprises) {
    const spent = Math.min(state.balance, finances.income * (0.04 + 0.3 * random.draw() * random.draw()));
    state.balance -= spent;
    state.spent += spent * 0.5;
  }
  if (finances.rushes > 0 && state.rush === 0 && random.draw() < finances.rushes * busy)
    state.rush = drawRushSteps(random.draw());
}

export const drawRushSteps = (draw: number) => 6 + Math.floor(18 * draw);

/** When awake, most likely soon; forgotten after weeks. */
function topUp(finances: PersonFinances, state: PersonState, { hour }: LocalStep, random: RandomStream) {
  state.noticedFor++;
  if (hour >= 7 && random.draw() < finances.haste * Math.exp(-state.noticedFor / finances.forgets)) {
    state.balance += state.missing * (1.02 + 1.5 * random.draw() * random.draw());
    state.noticedFor = 0;
  } else if (state.noticedFor > 20 * STEPS_PER_DAY) state.noticedFor = 0;
}

export const HOLD_LIFT_CHANCES = { short: 0.028, clearing: 0.055, long: 0.0045 } as const;

export const LONG_HOLD_RATE = 0.22;

function updateHold(finances: PersonFinances, state: PersonState, random: RandomStream) {
  if (state.hold !== "none") {
    if (random.draw() < HOLD_LIFT_CHANCES[state.hold]) state.hold = "none";
  } else if (random.draw() < finances.alarms) state.hold = random.draw() < LONG_HOLD_RATE ? "long" : "short";
}

export function canPay(finances: PersonFinances, state: PersonState, amount: number): boolean {
  const isUsable = state.awaits === null && state.hold === "none" && state.rush === 0;
  return isUsable && state.balance >= amount && state.spent + amount <= finances.dayLimit;
}

export function applyPayment(state: PersonState, amount: number) {
  state.balance -= amount;
  state.spent += amount;
  state.noticedFor = 0;
}

export function applyFailure(state: PersonState, amount: number) {
  if (state.hold === "short") state.hold = "clearing";
  else if (state.hold === "none") {
    state.noticedFor = 1;
    state.missing = amount;
  }
}
