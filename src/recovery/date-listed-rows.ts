import type { RecoveryAction } from "../domain/recovery-action.ts";
import type { Step } from "./step.ts";

/**
 * Replaces `provisional`. The time is known last, under a lock that other processes wait for.
 *
 * @param provisional  the very object that the step was made with
 */
export function dateListedRows(made: Step, provisional: Date, listedAt: Date): Step {
  const dated = (at: Date | null) => (at === provisional ? listedAt : at);
  const action = (each: RecoveryAction): RecoveryAction => ({
    ...each,
    createdAt: dated(each.createdAt)!,
    updatedAt: dated(each.updatedAt)!,
    executedAt: dated(each.executedAt),
  });
  return { ...made, inserted: made.inserted.map(action), updated: made.updated.map(action) };
}
