import type { Instrument } from "./instrument.ts";
import type { DeclineCodes, InterpretedDecline } from "./interpret-decline.ts";
import type { Source } from "./sources.ts";

/** By any system, or a requested retry that no transaction answers yet. */
export interface LedgerEntry {
  /** A requested retry's ideal time may be in the future. */
  at: Date;
  /** Minor units. */
  amount: number;
  /** Null: pending or unanswered; counts like a decline. */
  approved: boolean | null;
  onThisInvoice: boolean;
  /** It was, or may have been, on the card or account to be charged next. */
  onPresentCard: boolean;
  /** Null if not reported, as for an unanswered retry. */
  codes: DeclineCodes | null;
  /** Another invoice's retry, requested or still to come, that may be answered. */
  mayBeAnswered?: boolean;
  /** A successful charge that still stands, so the current card works. Never set if the card is in doubt. */
  clears?: boolean;
  /** No attempt: a payment on the current card or account was disputed, and nothing has been paid with it since. */
  isDispute?: boolean;
  /** The gateway blocked it before any bank saw it, so it counts against no limit. */
  isUnsent?: true;
  /** A substitute for the card to be charged next. Its codes are read by its own network's rules. */
  standIn?: Instrument;
}

/** `sentence`: for people. */
export interface Ruling {
  sentence: string;
  source: Source;
}

export type CardBlock = Ruling & { decline: InterpretedDecline; onThisInvoice: boolean; isDispute?: true };

export const citeSource = (source: Source) => `(${source.document}, ${source.date})`;
