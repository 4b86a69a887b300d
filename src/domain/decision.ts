import type { Engine } from "./merchant.ts";

const DECISION_KINDS = ["retry", "card_change", "stop", "wait"] as const;
export type DecisionKind = (typeof DECISION_KINDS)[number];

export interface EvaluatedTime {
  at: Date;
  /** Of a successful retry. */
  chance: number;
  /** Expected share of the amount from this retry and later ones, minus costs and minimum margins. */
  worth: number;
}

export interface EvaluatedHour extends Omit<EvaluatedTime, "worth"> {
  /** Null if it was not needed for the choice. */
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
 * Sentences by index. Among the reasons: `wait` is a rule that delays the retry, `rule` one that limits retries or is
 * unknown. Among the known facts: `limit` is the use of a network's limit, `tally` counts failed attempts that are not
 * listed.
 */
export type SentenceIndex = Readonly<Record<"wait" | "rule" | "limit" | "tally", readonly number[]>>;

/** The grounds of a decision. Sentences have the most important first. */
export interface DecisionAccount {
  reasons: string[];
  known: string[];
  about: SentenceIndex;
  /** Without a failed attempt, the decline code may still be missing. */
  knowsFailure: boolean;
  /** Since the previous decision. */
  changed: string[];
  ruledOut: ExcludedPeriod[];
  /** The best time of each local day. Empty without the learned model. */
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
     * A plan with as many retries as the even ones, because more retries alone recover more. Null if the plan has no
     * more, after an attempt, or in older records.
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
  /** Null if none was computed. */
  chance: number | null;
  /** The probability of choosing this time, for reweighting history. */
  propensity: number | null;
  /** A hash of the facts. */
  facts: string;
  account: DecisionAccount;
}

export interface PreviousDecision extends Omit<DecisionRecord, "account">, Pick<DecisionAccount, "known" | "about"> {
  lastReason: string | null;
}
