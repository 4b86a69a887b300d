import type { Instrument } from "./instrument.ts";
import type { DeclineCodes, InterpretedDecline } from "./interpret-decline.ts";
import type { Source } from "./sources.ts";

/** One attempt, whoever made it, or a retry asked for that no transaction answers yet. */
export interface LedgerEntry {
  /** When it was made; of a retry asked for, its ideal time, which may lie ahead. */
  at: Date;
  /** Minor units. */
  amount: number;
  /** null: pending, or not answered yet. It counts like a decline until it is known. */
  approved: boolean | null;
  onThisInvoice: boolean;
  /** On the card or account that is to be charged next, or that may be; true when the card is not known. */
  onPresentCard: boolean;
  /** null when nothing was said, as of a retry that is not answered. */
  codes: DeclineCodes | null;
  /** A retry of another invoice that was asked for a while ago or is to come, and that may still be answered. */
  mayBeAnswered?: boolean;
  /** A charge of the present card, beyond doubt, that went through and still stands: it shows that the card is alive. */
  clears?: boolean;
  /** No attempt, but a dispute of a payment made with the present card or account. Nothing was paid with it since. */
  isDispute?: boolean;
  /** Its gateway blocked it: no bank saw it, so that it counts against no limit. */
  isUnsent?: true;
  /** The card that it was made with, where that only stands in for what is to be charged next: its codes are read by the rules of its own network. */
  standIn?: Instrument;
}

/** A rule that forbids, as a sentence for people, and where it comes from. */
export interface Ruling {
  sentence: string;
  source: Source;
}

/** By which decline a card is barred. */
export type CardBlock = Ruling & { decline: InterpretedDecline; onThisInvoice: boolean; isDispute?: true };

export const citeSource = (source: Source) => `(${source.document}, ${source.date})`;
