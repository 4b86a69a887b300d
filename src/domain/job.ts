import type { Actor } from "./person.ts";

/** What takes longer than a page may: sending many events again, judging ways of trying again by a merchant's history, comparing shadow mode with the merchant's own system. */
const JOB_KINDS = ["replay", "backtest", "shadow"] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** Something that a person asked for and that is done bit by bit, by whichever process takes it. */
export interface Job<Input = unknown, Progress = unknown, Result = unknown> {
  merchantId: string;
  id: string;
  kind: JobKind;
  /** Service time. */
  askedAt: Date;
  actor: Actor;
  input: Input;
  /** How far it is; `{}` before its first step. */
  progress: Progress;
  /** null until it has ended, and when it failed. */
  result: Result | null;
  /** Why it failed, in words for who asked. */
  failure: string | null;
  endedAt: Date | null;
  /** Real time: nobody else takes it before. null once it has ended. */
  dueAt: Date | null;
  /** Of who has it in hands, or had it last. */
  holder: string | null;
}
