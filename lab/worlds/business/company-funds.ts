import { advanceRenewal, type CardState, newCardState } from "../card-replacement.ts";
import type { RandomStream } from "../random-stream.ts";
import { STEP_MS, STEPS_PER_DAY } from "../simulation-steps.ts";
import { calendarDayOf, hourOf, toLocalTime } from "../world-calendar.ts";
import { CALENDAR, SPENDING_BY_DAY } from "./year.ts";

/** Amounts in major units, chances per step of three hours. */
export interface FundingSource {
  /** A monthly or Monday limit, a card limited to this vendor, a prepaid card, or a credit line that is paid down. */
  kind: "limit" | "week" | "vendor" | "prepaid" | "line" | "plain";
  /** Local time minus UTC in ms, by calendar day. */
  offsets: Float64Array;
  work: Uint8Array;
  /** When a limit resets or a line falls due, in the three hours from `resetHour` on. */
  turnsOn: number;
  resetHour: number;
  limit: number;
  pace: number;
  swing: number;
  small: number;
  notices: number;
  /** Weekday of payments and prepaid fills; null: any working day, and the first of the month for fills. */
  runsOn: number | null;
  lands: number;
  /** Chance of travel, a new shop or a breach, which raise suspicion. */
  alarms: number;
  keeps: number;
}

/** A copy is another future. */
export interface FundingState extends CardState {
  spent: number;
  cap: number;
  /** In this period. */
  pace: number;
  balance: number;
  isFilled: boolean;
  /** The fill in transit; 0 if not fixed in advance. */
  fill: number;
  isOwed: boolean;
  /** A failure, unread or read; or its money or signature is on the way. `waited` counts steps. */
  stage: "calm" | "unread" | "read" | "moving";
  waited: number;
  heat: number;
  memory: number;
}

export const newFundingState = (pace: number): FundingState => ({
  ...newCardState(),
  spent: 0,
  cap: 0,
  pace,
  balance: 0,
  isFilled: false,
  fill: 0,
  isOwed: false,
  stage: "calm",
  waited: 0,
  heat: 0,
  memory: 0,
});

export interface LocalStep {
  weekday: number;
  date: number;
  lastDate: number;
  hour: number;
  works: boolean;
  isOffice: boolean;
  busy: number;
}

export function localStepOf({ offsets, work }: FundingSource, step: number): LocalStep {
  const local = toLocalTime(CALENDAR, offsets, step * STEP_MS);
  const day = calendarDayOf(CALENDAR, local);
  const hour = hourOf(local);
  const works = work[day] === 1;
  const isOffice = works && hour >= 8 && hour < 18;
  return {
    weekday: CALENDAR.weekday[day]!,
    date: CALENDAR.date[day]!,
    lastDate: CALENDAR.lastDate[day]!,
    hour,
    works,
    isOffice,
    busy: (isOffice ? 1 : hour < 6 ? 0.06 : works ? 0.25 : 0.13) * SPENDING_BY_DAY[day]!,
  };
}

export function advanceStep(source: FundingSource, state: FundingState, localStep: LocalStep, random: RandomStream) {
  const { kind } = source;
  if (kind === "prepaid") spendPrepaid(source, state, localStep, random);
  else if (kind !== "plain") resetLimit(source, state, localStep, random);
  if (kind === "limit" || kind === "week" || kind === "line") spend(source, state, localStep, random);
  if (state.stage !== "calm") handleFailure(source, state, localStep, random);
  state.heat *= source.keeps;
  state.memory *= source.keeps;
  if (random.draw() < source.alarms) state.heat += 2.5 + 4 * random.draw();
  if (state.awaits === null) return;
  const days = state.refusedFor / STEPS_PER_DAY;
  // Hardly entered after days.
  const typed = localStep.isOffice && days > 0 ? 0.06 * Math.exp(-days / 10) : 0;
  advanceRenewal(state, localStep.hour < 3, typed, random);
}

/** When its debit settles, one to three working days after its date. */
function resetLimit(source: FundingSource, state: FundingState, localStep: LocalStep, random: RandomStream) {
  const { kind, turnsOn, resetHour } = source;
  const { hour } = localStep;
  const turns = kind === "week" ? localStep.weekday === 1 : localStep.date === Math.min(turnsOn, localStep.lastDate);
  if (turns && hour >= resetHour && hour < resetHour + 3) {
    if (kind !== "vendor") state.pace = source.pace * Math.exp(source.swing * random.bell());
    if (kind === "line") state.isOwed = true;
    else state.spent = 0;
    if (kind === "limit" || kind === "week") state.cap = source.limit;
  }
  if (kind === "line" && state.isOwed && localStep.works && hour >= 5 && hour < 8 && random.draw() < 0.55) {
    state.isOwed = false;
    state.spent *= random.draw() < 0.78 ? 0.03 : 0.3 + 0.45 * random.draw();
  }
}

const BUSY_STEPS_PER_MONTH = 90;
const BUSY_STEPS_PER_WEEK = 21;

function spend({ kind, limit, small }: FundingSource, state: FundingState, { busy }: LocalStep, random: RandomStream) {
  let spent =
    ((limit * state.pace) / (kind === "week" ? BUSY_STEPS_PER_WEEK : BUSY_STEPS_PER_MONTH)) *
    busy *
    (0.1 + 1.8 * random.draw());
  if (random.draw() < 0.018 * busy) spent += limit * (0.03 + 0.25 * random.draw() * random.draw());
  if (state.spent + spent <= state.cap) state.spent += spent;
  else if (random.draw() < 0.35) state.spent = Math.max(state.spent, state.cap - small * random.draw());
}

/** Filled on the weekday of the run or in the first days of the month. */
function spendPrepaid(source: FundingSource, state: FundingState, localStep: LocalStep, random: RandomStream) {
  const { limit, runsOn } = source;
  const { busy, weekday, date } = localStep;
  let spent = (limit / BUSY_STEPS_PER_MONTH) * source.pace * busy * (0.1 + 1.8 * random.draw());
  if (random.draw() < 0.014 * busy) spent += limit * (0.05 + 0.25 * random.draw() * random.draw());
  if (spent <= state.balance) state.balance -= spent;
  const isDue = !state.isFilled && (runsOn === null ? date <= 4 : weekday === runsOn);
  if (isDue && localStep.isOffice && random.draw() < 0.3) {
    state.isFilled = true;
    const target = limit * (runsOn === null ? 1 : 0.42) * Math.exp(source.swing * random.bell());
    // Sometimes forgotten.
    if (state.balance < target && random.draw() < 0.93) {
      state.fill = target - state.balance;
      state.stage = "moving";
      state.waited = 0;
    }
  }
  if (runsOn === null ? date === 20 : weekday === (runsOn + 3) % 7) state.isFilled = false;
}

/** In office hours; acts at once or in its run. Money arrives on working days. */
function handleFailure(source: FundingSource, state: FundingState, localStep: LocalStep, random: RandomStream) {
  const { kind, runsOn, limit } = source;
  state.waited++;
  const go = (stage: FundingState["stage"]) => {
    state.stage = stage;
    state.waited = 0;
  };
  if (state.stage === "unread") {
    if (localStep.isOffice && random.draw() < source.notices) go("read");
    else if (state.waited > 28 * STEPS_PER_DAY) go("calm");
  } else if (state.stage === "read") {
    const isRun = kind !== "prepaid" || runsOn === null || localStep.weekday === runsOn;
    if (localStep.isOffice && isRun && random.draw() < 0.4) go("moving");
  } else if (kind === "prepaid") {
    if (!localStep.works || localStep.hour < 6 || localStep.hour >= 18 || random.draw() >= source.lands) return;
    state.balance += state.fill > 0 ? state.fill : limit * (0.06 + 0.22 * random.draw());
    state.fill = 0;
    go("calm");
  } else if (localStep.isOffice && random.draw() < 0.09) {
    // A budget owner raises the limit, or the line is paid down at once.
    if (kind === "vendor") state.cap *= 1.25 + 0.5 * random.draw();
    else if (kind === "line") state.spent *= 0.25 + 0.5 * random.draw();
    else state.cap = Math.max(state.cap, state.spent) + limit * (0.05 + 0.2 * random.draw());
    go("calm");
  }
}

/** In major units. */
export function hasFundsFor({ kind }: FundingSource, state: FundingState, amount: number): boolean {
  if (kind === "plain") return true;
  return kind === "prepaid" ? state.balance >= amount : state.spent + amount <= state.cap;
}

export function applyPayment({ kind }: FundingSource, state: FundingState, amount: number) {
  if (kind === "prepaid") state.balance -= amount;
  else state.spent += amount;
}

export function applyFailure(state: FundingState) {
  if (state.stage !== "calm") return;
  state.stage = "unread";
  state.waited = 0;
  state.fill = 0;
}
