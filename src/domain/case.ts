import type { Arm } from "./experiment.ts";

const END_REASONS = [
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
] as const;
export type EndReason = (typeof END_REASONS)[number];

/**
 * Who looks after a case. Left to the merchant's own system: by an experiment, and it is watched only, or in shadow mode, and what Dunlin would
 * do is decided and logged.
 */
export type CaseArm = Arm | "shadow";

/** An invoice in recovery, from the first unpaid copy to its end. */
export interface Case {
  id: string;
  invoiceId: string;
  customerId: string;
  subscriptionId: string | null;
  /** What the invoice asks for, in minor units; once the case has ended, what it asked for then. */
  amount: number;
  currency: string;
  /** `updatedAt` of the first unpaid copy: the window starts here. */
  unpaidAt: Date;
  windowEndsAt: Date;
  /** Retries that may be asked for in all. */
  budget: number;
  /** Stays as it was when the case was opened, whatever becomes of the experiment or of shadow mode. */
  arm: CaseArm;
  openedAt: Date;
  endedAt: Date | null;
  endReason: EndReason | null;
  /** The moment the payment is dated, when the case ended as paid. */
  paidAt: Date | null;
}

/** Dunlin, or a person by it, ended it before its window was over, so the merchant is told by `complete_dunning`. */
export const sendsCompleteDunning = (reason: EndReason) =>
  reason === "hopeless" ||
  reason === "budget_used" ||
  reason === "subscription_canceled" ||
  reason === "subscription_expired" ||
  reason === "stopped_by_hand";
