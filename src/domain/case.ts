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

/** Dunlin only observes cases in the arm `merchant`, and only logs its decisions in `shadow`. */
export type CaseArm = Arm | "shadow";

/** An invoice in recovery, from its first unpaid version to the end. */
export interface Case {
  id: string;
  invoiceId: string;
  customerId: string;
  subscriptionId: string | null;
  /** Minor units; in an ended case, the amount at the end. */
  amount: number;
  currency: string;
  /** `updatedAt` of the first unpaid version, at which the window starts. */
  unpaidAt: Date;
  windowEndsAt: Date;
  /** The maximum number of retries. */
  budget: number;
  /** Fixed when the case opens. */
  arm: CaseArm;
  openedAt: Date;
  endedAt: Date | null;
  endReason: EndReason | null;
  /** When the payment was made, if it ended as paid. */
  paidAt: Date | null;
}

/** Whether the merchant needs a `complete_dunning`, because the case ended early. */
export const sendsCompleteDunning = (reason: EndReason) =>
  reason === "hopeless" ||
  reason === "budget_used" ||
  reason === "subscription_canceled" ||
  reason === "subscription_expired" ||
  reason === "stopped_by_hand";
