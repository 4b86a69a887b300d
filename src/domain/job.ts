import type { Actor } from "./person.ts";

const JOB_KINDS = ["replay", "backtest", "shadow"] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** Any process may run it, step by step. */
export interface Job<Input = unknown, Progress = unknown, Result = unknown> {
  merchantId: string;
  id: string;
  kind: JobKind;
  /** Service time. */
  askedAt: Date;
  actor: Actor;
  input: Input;
  /** `{}` before its first step. */
  progress: Progress;
  /** Null until it succeeds. */
  result: Result | null;
  /** For its actor. */
  failure: string | null;
  endedAt: Date | null;
  /** No other process takes it before this real time. Null after it ended. */
  dueAt: Date | null;
  /** Current or last process. */
  holder: string | null;
}
