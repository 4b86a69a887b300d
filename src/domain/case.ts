import type { Arm } from "./experiment.ts";

export const END_REASONS = [
  "paid",
  "voided",
  "uncollectible",
  "refunded",
  "draft",
  "subscription_canceled",
  "subscription_expired",
  "window_over",
  "budget_used",
  "hopeless",
  "stopped_by_hand",
  "settled",
  "left_out",
] as const;
export type EndReason = (typeof END_REASONS)[number];

/** Dunlin only observes `merchant` cases, and only logs decisions in `shadow`. */
export type CaseArm = Arm | "shadow";

/** An invoice in recovery, from its first unpaid version on. */
export interface Case {
  id: string;
  invoiceId: string;
  customerId: string;
  subscriptionId: string | null;
  /** Minor units; in an ended case, as of the end. */
  amount: number;
  currency: string;
  /** When the window starts: the first unpaid version, a later attempt, or the time at which it became owed again. */
  unpaidAt: Date;
  windowEndsAt: Date;
  /** Maximum retries. */
  budget: number;
  /** Fixed when the case opens. */
  arm: CaseArm;
  openedAt: Date;
  endedAt: Date | null;
  endReason: EndReason | null;
  /** Null unless it ended as paid. */
  paidAt: Date | null;
  /** Until when the merchant allows no retry; null: not postponed. */
  postponedUntil: Date | null;
  /** The recovery rule that decides; null: none fits. */
  ruleId: string | null;
  /** The window and the budget that the rule gave; null: they came from the merchant's settings. */
  ruleWindowDays: number | null;
  ruleBudget: number | null;
}

/** Only if the case ended early. */
export const sendsCompleteDunning = (reason: EndReason) =>
  reason === "hopeless" ||
  reason === "budget_used" ||
  reason === "subscription_canceled" ||
  reason === "subscription_expired" ||
  reason === "stopped_by_hand" ||
  reason === "left_out";
