import type { RecoveryAction } from "../domain/recovery-action.ts";
import type { Step } from "./step.ts";

/**
 * Replaces `provisional`. The time is known last, under a lock that other processes wait for.
 *
 * @param provisional  the very object that the step was made with
 */
export function dateListedRows(step: Step, provisional: Date, listedAt: Date): Step {
  const replaceProvisional = (at: Date | null) => (at === provisional ? listedAt : at);
  const dateAction = (action: RecoveryAction): RecoveryAction => ({
    ...action,
    createdAt: replaceProvisional(action.createdAt)!,
    updatedAt: replaceProvisional(action.updatedAt)!,
    executedAt: replaceProvisional(action.executedAt),
  });
  return { ...step, inserted: step.inserted.map(dateAction), updated: step.updated.map(dateAction) };
}
