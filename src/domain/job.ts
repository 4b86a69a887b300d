import type { Actor } from "./person.ts";

/** Work that takes longer than a page. */
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
  /** Null before it ends, and if it failed. */
  result: Result | null;
  /** For the person who started it. */
  failure: string | null;
  endedAt: Date | null;
  /** No other process takes the job before this real time. Null after it ended. */
  dueAt: Date | null;
  /** The current or last process. */
  holder: string | null;
}
