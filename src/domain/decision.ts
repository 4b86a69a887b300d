import type { Engine } from "./merchant.ts";

const DECISION_KINDS = ["retry", "card_change", "stop", "wait"] as const;
export type DecisionKind = (typeof DECISION_KINDS)[number];

export interface EvaluatedTime {
  at: Date;
  /** A retry's success. */
  chance: number;
  /** Expected share of the amount from this retry and later ones, minus costs and minimum margins. */
  worth: number;
}

export interface EvaluatedHour extends Omit<EvaluatedTime, "worth"> {
  /** Null if the choice did not need it. */
  worth: number | null;
}

export interface ExcludedPeriod {
  rule: string;
  /** Document, edition, date and link. */
  source: string;
  /** Inclusive; `to` is exclusive, to the minute. */
  from: Date;
  to: Date;
}

/**
 * Sentences by index. Reasons: `wait` is a rule that delays the retry, `rule` one that limits retries or is unknown. Known facts:
 * `limit` is a network limit's use, `tally` counts failed attempts that are not listed.
 */
export type SentenceIndex = Readonly<Record<"wait" | "rule" | "limit" | "tally", readonly number[]>>;

/** Most important sentences first. */
export interface DecisionAccount {
  reasons: string[];
  known: string[];
  about: SentenceIndex;
  /** Without a failed attempt, the decline code may still be missing. */
  knowsFailure: boolean;
  /** Since the previous decision. */
  changed: string[];
  ruledOut: ExcludedPeriod[];
  /** Each local day's best time. Empty without the learned model. */
  days: EvaluatedTime[];
  /** Every fourth allowed hour of the chosen local day. */
  hours: EvaluatedHour[];
  /** Six evenly spaced retries, by the same model; null without it. */
  even: {
    tries: Date[];
    recovers: number;
    worth: number;
    plan: Date[];
    planRecovers: number;
    planWorth: number;
    /**
     * A plan with as many retries as the even ones, because more retries alone recover more. Null if the plan has no more, after an
     * attempt, or in older records.
     */
    asMany: { recovers: number; worth: number } | null;
  } | null;
  /** Sampled to learn from it. */
  drawn: boolean;
  /** Sampled within the day: the model preferred another hour. */
  hourDrawn: boolean;
  /** Evenly spaced because recent predictions were wrong. */
  spread: boolean;
  /** Why the static policy replaced the learned engine. */
  fallback: string | null;
}

export interface DecisionRecord {
  caseId: string;
  /** Counts up within the case. */
  number: number;
  madeAt: Date;
  engine: Engine;
  /** Null without the learned model. */
  modelVersion: number | null;
  kind: DecisionKind;
  /** Null for `stop` and `wait`. */
  actionId: string | null;
  idealTime: Date | null;
  chance: number | null;
  /** Probability of choosing this time, for reweighting history. */
  propensity: number | null;
  /** A hash of the facts. */
  facts: string;
  account: DecisionAccount;
}

export interface PreviousDecision extends Omit<DecisionRecord, "account">, Pick<DecisionAccount, "known" | "about"> {
  lastReason: string | null;
}
