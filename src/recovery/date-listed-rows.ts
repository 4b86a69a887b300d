import type { RecoveryAction } from "../domain/recovery-action.ts";
import type { Step } from "./step.ts";

/**
 * A step whose listed rows have their moment. It is known last, under a lock that others of the merchant wait for, when all else is decided.
 *
 * @param made  a step that was made with `provisional`, this very object, as the moment of what it lists
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
