import { advanceRenewal, type CardState, newCardState } from "../card-replacement.ts";
import type { RandomStream } from "../random-stream.ts";
import { STEP_MS, STEPS_PER_DAY } from "../simulation-steps.ts";
import { calendarDayOf, hourOf, toLocalTime } from "../world-calendar.ts";
import { CALENDAR, SPENDING_BY_DAY } from "./year.ts";

/** How a company pays and how its money arrives. Amounts in major units, chances per step of three hours. */
export interface FundingSource {
  /**
   * A limit that resets monthly or on Mondays, a card limited to this vendor, a prepaid card, or a credit line that is paid down.
   */
  kind: "limit" | "week" | "vendor" | "prepaid" | "line" | "plain";
  /** Local time minus UTC in ms, by day of the calendar. */
  offsets: Float64Array;
  work: Uint8Array;
  /** Date on which a limit resets or a line falls due, in the three hours from `resetHour` on. */
  turnsOn: number;
  resetHour: number;
  limit: number;
  /** Share of the limit that it would spend in a period, and how much this varies by period. */
  pace: number;
  swing: number;
  /** Amount that it can still spend when a limit is nearly full. */
  small: number;
  /** The chance in office hours that finance reads about a failure. */
  notices: number;
  /**
   * Weekday of the payment run, when prepaid cards are also filled; null: payments on any working day, and cards on the first of
   * the month.
   */
  runsOn: number | null;
  /** The chance on working days that money in transit arrives. */
  lands: number;
  /** The chance of travel, a new shop or a breach elsewhere, which make the issuer suspicious. */
  alarms: number;
  /** Share of suspicion that remains after three hours. */
  keeps: number;
}

/** Everything that changes. A copy of it is another future. */
export interface FundingState extends CardState {
  /** Of the limit or line; on a vendor card, by this vendor alone. */
  spent: number;
  cap: number;
  /** This period's pace. */
  pace: number;
  balance: number;
  isFilled: boolean;
  /** The amount of the fill in transit; 0 if it is not fixed in advance. */
  fill: number;
  /** Whether the line's debit has yet to settle. */
  isOwed: boolean;
  /** The failure is unread, read and to be acted on, or its money or signature is on the way. `waited` counts steps. */
  stage: "calm" | "unread" | "read" | "moving";
  waited: number;
  /** Suspicion after alarms and after declined attempts, in log odds. */
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

/** The local time of a step of three hours. */
export interface LocalStep {
  weekday: number;
  date: number;
  lastDate: number;
  hour: number;
  works: boolean;
  isOffice: boolean;
  /** Spending relative to usual office hours. */
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

/** Advances a company by three hours, in place. */
export function advanceStep(means: FundingSource, state: FundingState, moment: LocalStep, luck: RandomStream) {
  const { kind } = means;
  if (kind === "prepaid") spendPrepaid(means, state, moment, luck);
  else if (kind !== "plain") resetLimit(means, state, moment, luck);
  if (kind === "limit" || kind === "week" || kind === "line") spend(means, state, moment, luck);
  if (state.stage !== "calm") handleFailure(means, state, moment, luck);
  state.heat *= means.keeps;
  state.memory *= means.keeps;
  if (luck.draw() < means.alarms) state.heat += 2.5 + 4 * luck.draw();
  if (state.awaits === null) return;
  const days = state.refusedFor / STEPS_PER_DAY;
  // A holder who has not entered the new card for days hardly will.
  const typed = moment.isOffice && days > 0 ? 0.06 * Math.exp(-days / 10) : 0;
  advanceRenewal(state, moment.hour < 3, typed, luck);
}

/** A limit resets. A line falls due on its date and is paid down when the debit settles, one to three working days later. */
function resetLimit(means: FundingSource, state: FundingState, moment: LocalStep, luck: RandomStream) {
  const { kind, turnsOn, resetHour } = means;
  const { hour } = moment;
  const turns = kind === "week" ? moment.weekday === 1 : moment.date === Math.min(turnsOn, moment.lastDate);
  if (turns && hour >= resetHour && hour < resetHour + 3) {
    if (kind !== "vendor") state.pace = means.pace * Math.exp(means.swing * luck.bell());
    if (kind === "line") state.isOwed = true;
    else state.spent = 0;
    // A temporary raise ends; a vendor's cap stays raised.
    if (kind === "limit" || kind === "week") state.cap = means.limit;
  }
  if (kind === "line" && state.isOwed && moment.works && hour >= 5 && hour < 8 && luck.draw() < 0.55) {
    state.isOwed = false;
    state.spent *= luck.draw() < 0.78 ? 0.03 : 0.3 + 0.45 * luck.draw();
  }
}

/** Steps of a month and of a week, weighted by how busy they are. */
const BUSY_STEPS_PER_MONTH = 90;
const BUSY_STEPS_PER_WEEK = 21;

/** The company's other spending fills its limit. An amount that does not fit is declined or reduced. */
function spend({ kind, limit, small }: FundingSource, state: FundingState, { busy }: LocalStep, luck: RandomStream) {
  let out =
    ((limit * state.pace) / (kind === "week" ? BUSY_STEPS_PER_WEEK : BUSY_STEPS_PER_MONTH)) *
    busy *
    (0.1 + 1.8 * luck.draw());
  if (luck.draw() < 0.018 * busy) out += limit * (0.03 + 0.25 * luck.draw() * luck.draw());
  if (state.spent + out <= state.cap) state.spent += out;
  else if (luck.draw() < 0.35) state.spent = Math.max(state.spent, state.cap - small * luck.draw());
}

/** A prepaid card is spent down, and filled on the weekday of the run or in the first days of the month. */
function spendPrepaid(means: FundingSource, state: FundingState, moment: LocalStep, luck: RandomStream) {
  const { limit, runsOn } = means;
  const { busy, weekday, date } = moment;
  let out = (limit / BUSY_STEPS_PER_MONTH) * means.pace * busy * (0.1 + 1.8 * luck.draw());
  if (luck.draw() < 0.014 * busy) out += limit * (0.05 + 0.25 * luck.draw() * luck.draw());
  if (out <= state.balance) state.balance -= out;
  const isDue = !state.isFilled && (runsOn === null ? date <= 4 : weekday === runsOn);
  if (isDue && moment.isOffice && luck.draw() < 0.3) {
    state.isFilled = true;
    const target = limit * (runsOn === null ? 1 : 0.42) * Math.exp(means.swing * luck.bell());
    // Sometimes the fill is forgotten.
    if (state.balance < target && luck.draw() < 0.93) {
      state.fill = target - state.balance;
      state.stage = "moving";
      state.waited = 0;
    }
  }
  if (runsOn === null ? date === 20 : weekday === (runsOn + 3) % 7) state.isFilled = false;
}

/** Finance reads about the failure in office hours and acts at once or in its run. Money arrives on working days. */
function handleFailure(means: FundingSource, state: FundingState, moment: LocalStep, luck: RandomStream) {
  const { kind, runsOn, limit } = means;
  state.waited++;
  const go = (stage: FundingState["stage"]) => {
    state.stage = stage;
    state.waited = 0;
  };
  if (state.stage === "unread") {
    if (moment.isOffice && luck.draw() < means.notices) go("read");
    else if (state.waited > 28 * STEPS_PER_DAY) go("calm");
  } else if (state.stage === "read") {
    const isRun = kind !== "prepaid" || runsOn === null || moment.weekday === runsOn;
    if (moment.isOffice && isRun && luck.draw() < 0.4) go("moving");
  } else if (kind === "prepaid") {
    if (!moment.works || moment.hour < 6 || moment.hour >= 18 || luck.draw() >= means.lands) return;
    state.balance += state.fill > 0 ? state.fill : limit * (0.06 + 0.22 * luck.draw());
    state.fill = 0;
    go("calm");
  } else if (moment.isOffice && luck.draw() < 0.09) {
    // A budget owner signs: the limit is raised or the line paid down at once.
    if (kind === "vendor") state.cap *= 1.25 + 0.5 * luck.draw();
    else if (kind === "line") state.spent *= 0.25 + 0.5 * luck.draw();
    else state.cap = Math.max(state.cap, state.spent) + limit * (0.05 + 0.2 * luck.draw());
    go("calm");
  }
}

/** Whether there is enough money for `amount`, in major units. */
export function hasFundsFor({ kind }: FundingSource, state: FundingState, amount: number): boolean {
  if (kind === "plain") return true;
  return kind === "prepaid" ? state.balance >= amount : state.spent + amount <= state.cap;
}

/** Applies a charge that succeeds. */
export function applyPayment({ kind }: FundingSource, state: FundingState, amount: number) {
  if (kind === "prepaid") state.balance -= amount;
  else state.spent += amount;
}

/** Applies a charge that fails for lack of money: finance gets a mail. */
export function applyFailure(state: FundingState) {
  if (state.stage !== "calm") return;
  state.stage = "unread";
  state.waited = 0;
  state.fill = 0;
}
