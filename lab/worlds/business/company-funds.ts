import { advanceRenewal, type CardState, newCardState } from "../card-replacement.ts";
import type { RandomStream } from "../random-stream.ts";
import { STEP_MS, STEPS_PER_DAY } from "../simulation-steps.ts";
import { calendarDayOf, hourOf, toLocalTime } from "../world-calendar.ts";
import { CALENDAR, SPENDING_BY_DAY } from "./year.ts";

/** What a company pays with and how it gets money there; amounts in major units, chances for three hours. */
export interface FundingSource {
  /** A limit that turns monthly or on Mondays, one that only this vendor may use, a card to be filled, a line to be paid down. */
  kind: "limit" | "week" | "vendor" | "prepaid" | "line" | "plain";
  /** Local time less UTC, ms, by day of the calendar. */
  offsets: Float64Array;
  work: Uint8Array;
  /** Date on which a limit or a line turns, in the three hours from `resetHour` on. */
  turnsOn: number;
  resetHour: number;
  limit: number;
  /** Share of the limit that it would spend in a period, and how much that differs from period to period. */
  pace: number;
  swing: number;
  /** What it still manages to spend of a limit that is all but full. */
  small: number;
  /** The chance in office hours that finance reads of a failure. */
  notices: number;
  /** Weekday of the payment run, when cards are filled too; null: on any working day, and cards on the month's first. */
  runsOn: number | null;
  /** The chance on working days that money under way lands. */
  lands: number;
  /** The chance of travel, a new shop or a breach elsewhere: what makes the issuer suspicious. */
  alarms: number;
  /** Share of suspicion that is left after three hours. */
  keeps: number;
}

/** All that moves; a copy of it is another future. */
export interface FundingState extends CardState {
  /** Of the limit or line; by this vendor alone on its own card. */
  spent: number;
  cap: number;
  /** This period's pace. */
  pace: number;
  /** On a prepaid card. */
  balance: number;
  /** Whether the card has been filled in this period. */
  isFilled: boolean;
  /** What the fill under way brings; 0: as much as somebody thinks of. */
  fill: number;
  /** Whether the line's debit is yet to settle. */
  isOwed: boolean;
  /** A failure nobody has read of, one somebody means to act on, money or a signature under way; and for how many steps. */
  stage: "calm" | "unread" | "read" | "moving";
  waited: number;
  /** Suspicion after alarms and after declined tries, log odds. */
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

/** The three hours of a step where the company is. */
export interface LocalStep {
  weekday: number;
  date: number;
  lastDate: number;
  hour: number;
  works: boolean;
  isOffice: boolean;
  /** How much is spent, 1 in usual office hours. */
  busy: number;
}

/** The moment of a step, counted since 1970. */
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

/** Three hours of a company: `state` is changed. */
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
  // Who has not typed the new card in for days hardly will.
  const typed = moment.isOffice && days > 0 ? 0.06 * Math.exp(-days / 10) : 0;
  advanceRenewal(state, moment.hour < 3, typed, luck);
}

/** A limit starts afresh; a line is owed on its date and paid down when the debit settles, a working day or three later. */
function resetLimit(means: FundingSource, state: FundingState, moment: LocalStep, luck: RandomStream) {
  const { kind, turnsOn, resetHour } = means;
  const { hour } = moment;
  const turns = kind === "week" ? moment.weekday === 1 : moment.date === Math.min(turnsOn, moment.lastDate);
  if (turns && hour >= resetHour && hour < resetHour + 3) {
    if (kind !== "vendor") state.pace = means.pace * Math.exp(means.swing * luck.bell());
    if (kind === "line") state.isOwed = true;
    else state.spent = 0;
    // What was raised for once is the old limit again; a vendor's cap stays raised.
    if (kind === "limit" || kind === "week") state.cap = means.limit;
  }
  if (kind === "line" && state.isOwed && moment.works && hour >= 5 && hour < 8 && luck.draw() < 0.55) {
    state.isOwed = false;
    state.spent *= luck.draw() < 0.78 ? 0.03 : 0.3 + 0.45 * luck.draw();
  }
}

/** Hours of a month and of a week, weighed by how busy they are, in steps. */
const BUSY_STEPS_PER_MONTH = 90;
const BUSY_STEPS_PER_WEEK = 21;

/** The company's other spending fills its limit; what does not fit is declined, or made to fit. */
function spend({ kind, limit, small }: FundingSource, state: FundingState, { busy }: LocalStep, luck: RandomStream) {
  let out =
    ((limit * state.pace) / (kind === "week" ? BUSY_STEPS_PER_WEEK : BUSY_STEPS_PER_MONTH)) *
    busy *
    (0.1 + 1.8 * luck.draw());
  if (luck.draw() < 0.018 * busy) out += limit * (0.03 + 0.25 * luck.draw() * luck.draw());
  if (state.spent + out <= state.cap) state.spent += out;
  else if (luck.draw() < 0.35) state.spent = Math.max(state.spent, state.cap - small * luck.draw());
}

/** A prepaid card is spent down, and filled on the weekday of the run or in the month's first days. */
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
    // Now and then it is forgotten.
    if (state.balance < target && luck.draw() < 0.93) {
      state.fill = target - state.balance;
      state.stage = "moving";
      state.waited = 0;
    }
  }
  if (runsOn === null ? date === 20 : weekday === (runsOn + 3) % 7) state.isFilled = false;
}

/** Finance reads of the failure in office hours and acts then or in its run; money lands on working days. */
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
    // A budget owner signs, and the limit is raised or the line paid down at once.
    if (kind === "vendor") state.cap *= 1.25 + 0.5 * luck.draw();
    else if (kind === "line") state.spent *= 0.25 + 0.5 * luck.draw();
    else state.cap = Math.max(state.cap, state.spent) + limit * (0.05 + 0.2 * luck.draw());
    go("calm");
  }
}

/** Whether the money is there; `amount` in major units. */
export function hasFundsFor({ kind }: FundingSource, state: FundingState, amount: number): boolean {
  if (kind === "plain") return true;
  return kind === "prepaid" ? state.balance >= amount : state.spent + amount <= state.cap;
}

/** A charge that goes through. */
export function applyPayment({ kind }: FundingSource, state: FundingState, amount: number) {
  if (kind === "prepaid") state.balance -= amount;
  else state.spent += amount;
}

/** A charge that fails for want of money gets a mail to finance on its way. */
export function applyFailure(state: FundingState) {
  if (state.stage !== "calm") return;
  state.stage = "unread";
  state.waited = 0;
  state.fill = 0;
}
