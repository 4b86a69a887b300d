import type { Engine } from "./merchant.ts";

const DECISION_KINDS = ["retry", "card_change", "stop", "wait"] as const;
export type DecisionKind = (typeof DECISION_KINDS)[number];

/** A moment that was thought of, with what was expected of a try then. */
export interface EvaluatedTime {
  at: Date;
  /** That the try succeeds. */
  chance: number;
  /** Expected share of the amount, less what tries cost and the margin that each must bring beyond that, of this try and of those planned after it. */
  worth: number;
}

/** An hour of the day that was chosen. */
export interface EvaluatedHour extends Omit<EvaluatedTime, "worth"> {
  /** As that of a prospect; null: the try was not chosen from it, so nobody worked it out. */
  worth: number | null;
}

/** A rule that left no try at some moments. */
export interface ExcludedPeriod {
  /** A sentence that names the rule. */
  rule: string;
  /** Document, edition and date, and where it can be read. */
  source: string;
  /** From the first moment that it forbids to the first one, to the minute, that it does not. */
  from: Date;
  to: Date;
}

/**
 * Where the sentences stand of which it is asked what they are about. Among the reasons: `wait`, a rule by which no try came sooner; `rule`, one that leaves
 * fewer tries, or that none is known. Among what was known: `limit`, how far a rule's limit is used; `tally`, how many more tries failed than are named.
 */
export type SentenceIndex = Readonly<Record<"wait" | "rule" | "limit" | "tally", readonly number[]>>;

/** What a decision rested on, for people. Sentences are most important first. */
export interface DecisionAccount {
  reasons: string[];
  known: string[];
  about: SentenceIndex;
  /** A try that failed was known, and not only that the invoice is unpaid: there may be no code yet that says whether a card can work at all. */
  knowsFailure: boolean;
  /** Since the decision before. */
  changed: string[];
  ruledOut: ExcludedPeriod[];
  /** Of the moments that were compared the best one of each local day, without days of which none was. Empty when nothing learned took part. */
  days: EvaluatedTime[];
  /** The hours of the local day that was chosen, every fourth, as far as a try was allowed then. */
  hours: EvaluatedHour[];
  /** Six tries spread evenly over the window, by the same model; null when nothing learned took part. */
  even: {
    tries: Date[];
    recovers: number;
    worth: number;
    plan: Date[];
    planRecovers: number;
    planWorth: number;
    /** A plan of as many tries as the even ones, since more tries alone reach more; null where the plan has no more, once a try was made, and where an earlier program made it. */
    asMany: { recovers: number; worth: number } | null;
  } | null;
  /** The moment was drawn by lot, to learn from it. */
  drawn: boolean;
  /** Its hour was drawn, to learn from it: another moment would have been chosen. */
  hourDrawn: boolean;
  /** One of those that are spread evenly, since what is said did not come true of late. */
  spread: boolean;
  /** Why the static policy decided for a merchant that wants the learned engine; null: it did not. */
  fallback: string | null;
}

/** What was decided in a case, and what it rested on. */
export interface DecisionRecord {
  caseId: string;
  /** Counts up within the case. */
  number: number;
  madeAt: Date;
  engine: Engine;
  /** null: nothing that was learned took part. */
  modelVersion: number | null;
  kind: DecisionKind;
  /** The action that is planned by it; null for `stop` and `wait`. */
  actionId: string | null;
  idealTime: Date | null;
  /** The chance that was given to the try; null where none was worked out. */
  chance: number | null;
  /** The chance with which this moment was chosen: history can be weighed again by it. */
  propensity: number | null;
  /** A fingerprint of the facts. */
  facts: string;
  account: DecisionAccount;
}

/** As much of the decision before as the next one looks at. */
export interface PreviousDecision extends Omit<DecisionRecord, "account">, Pick<DecisionAccount, "known" | "about"> {
  /** The last of its reasons. */
  lastReason: string | null;
}
