import type { Instrument } from "./instrument.ts";
import type { DeclineCodes, InterpretedDecline } from "./interpret-decline.ts";
import type { Source } from "./sources.ts";

/** An attempt by any system, or a requested retry that no transaction answers yet. */
export interface LedgerEntry {
  /** Time of the attempt; for a requested retry its ideal time, which may be in the future. */
  at: Date;
  /** Minor units. */
  amount: number;
  /** null: pending or unanswered. Counts like a decline until then. */
  approved: boolean | null;
  onThisInvoice: boolean;
  /** Whether it was made on the card or account to be charged next, or may have been; true if the card is not reported. */
  onPresentCard: boolean;
  /** null if nothing was reported, as for an unanswered retry. */
  codes: DeclineCodes | null;
  /** A retry of another invoice that was requested earlier, or is to come, and may still be answered. */
  mayBeAnswered?: boolean;
  /**
   * A successful charge of the current card that still stands, so the card is known to work. Never set if the card is in doubt.
   */
  clears?: boolean;
  /** A dispute of a payment on the current card or account, not an attempt. Nothing has been paid with it since. */
  isDispute?: boolean;
  /** The gateway blocked it before any bank saw it, so it counts against no limit. */
  isUnsent?: true;
  /**
   * The card of the attempt, if it is a substitute for the card to be charged next. Its codes are read by the rules of its own
   * network.
   */
  standIn?: Instrument;
}

/** A rule that forbids an attempt, as a sentence for people, with its source. */
export interface Ruling {
  sentence: string;
  source: Source;
}

/** A block of a card, with the decline that caused it. */
export type CardBlock = Ruling & { decline: InterpretedDecline; onThisInvoice: boolean; isDispute?: true };

export const citeSource = (source: Source) => `(${source.document}, ${source.date})`;
