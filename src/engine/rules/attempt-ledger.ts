import type { Instrument } from "./instrument.ts";
import type { DeclineCodes, InterpretedDecline } from "./interpret-decline.ts";
import type { Source } from "./sources.ts";

/** An attempt by any system, or a requested retry that no transaction answers yet. */
export interface LedgerEntry {
  /** For a requested retry its ideal time, which may be in the future. */
  at: Date;
  /** Minor units. */
  amount: number;
  /** Null: pending or unanswered; counts like a decline until then. */
  approved: boolean | null;
  onThisInvoice: boolean;
  /** Whether it was, or may have been, on the card or account to be charged next; true if the card is not reported. */
  onPresentCard: boolean;
  /** Null if not reported, as for an unanswered retry. */
  codes: DeclineCodes | null;
  /** Another invoice's retry, requested earlier or still to come, that may be answered. */
  mayBeAnswered?: boolean;
  /** A successful charge that still stands, so the current card works. Never set if the card is in doubt. */
  clears?: boolean;
  /** A dispute of a payment on the current card or account, not an attempt. Nothing has been paid with it since. */
  isDispute?: boolean;
  /** The gateway blocked it before any bank saw it, so it counts against no limit. */
  isUnsent?: true;
  /** The attempt's card, if a substitute for the one to be charged next. Its codes are read by its own network's rules. */
  standIn?: Instrument;
}

/** Forbids an attempt, as a sentence for people. */
export interface Ruling {
  sentence: string;
  source: Source;
}

/** Has the decline that caused it. */
export type CardBlock = Ruling & { decline: InterpretedDecline; onThisInvoice: boolean; isDispute?: true };

export const citeSource = (source: Source) => `(${source.document}, ${source.date})`;
