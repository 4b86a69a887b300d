import { WEEK_MS } from "../domain/durations.ts";
import { schemeOf } from "../domain/schemes.ts";
import { type Belief, newBelief, newPerson, type Person } from "../model/belief.ts";
import { bookingOf } from "../model/booking.ts";
import { noteDeclined } from "../model/declined.ts";
import type { Reason } from "../model/layout.ts";
import type { Learned } from "../model/learned.ts";
import { observeBeside, observeFirst, observeTry } from "../model/observe.ts";
import { type DeclineCodes, declineGroup } from "../rules/decline-group.ts";
import { type Instrument, isCard } from "../rules/instrument.ts";
import { plainCode, withoutWords } from "../rules/response-codes.ts";
import {
  caseRows,
  codeWeight,
  declinedWith,
  namesOf,
  newPast,
  type Past,
  standingOf,
  type Traits,
} from "./case-names.ts";

/** One charge of a bill, whoever made it. */
export interface PastCharge {
  at: Date;
  approved: boolean;
  /** null when nothing was said. */
  codes: DeclineCodes | null;
  /** Nobody charged: a new card stands where a charge would, and says nothing of the customer. */
  isPresumed?: true;
}

/** A bill with its charges, oldest first; the first of them is the one that came with the bill. */
export interface PastBill {
  dollars: number;
  /** How it was charged; null: no attempt tells, so its moments are those of answers, by which a debit was booked already. */
  paymentMethodType: string | null;
  charges: readonly PastCharge[];
}

/** What a customer's history holds, as far as the model looks at it. */
export interface History {
  /** What stays the same over the customer's bills. */
  traits: Omit<Traits, "dollars" | "declineCode" | "adviceCode" | "past">;
  instrument: Instrument;
  /** Local time less UTC at a moment, milliseconds. */
  offsetAt(at: number): number;
  /** Oldest first; the last one is the case that is to be decided, and its first charge was declined. */
  bills: readonly PastBill[];
}

/**
 * What to believe of a customer's open case, worked out from the whole history. Changes nothing that was learned, so it
 * may be asked as often as one likes; the same history gives the same belief.
 *
 * @param booking  which of BOOKINGS the moments are looked at by of what was charged in the present way
 */
export function recall(
  learned: Learned,
  history: History,
  booking = bookingOf(learned, history.traits.paymentMethodType),
): { person: Person; belief: Belief } {
  const person = newPerson(learned, history.traits.country);
  const past = newPast();
  const names = namesOf(history.traits);
  const cases = new Map<PastBill, { belief: Belief; reason: Reason; isOpen: boolean }>();
  const last = history.bills.at(-1)!;
  for (const [bill, charge] of inOrder(history.bills)) {
    const at = charge.at.getTime();
    const reason = reasonOf(history, charge);
    const own = cases.get(bill);
    // What nothing more is known of needs no belief.
    const others = [...cases]
      .filter(
        ([other, { isOpen }]) => other !== bill && isOpen && (other === last || other.charges.at(-1)!.at > charge.at),
      )
      .map(([, { belief }]) => belief);
    const before = others.length === 0 ? null : person.cycles.slice();
    if (charge === bill.charges[0]) {
      const belief = recallFirst(learned, history, booking, person, past, bill, reason, names);
      if (belief) cases.set(bill, { belief, reason: reason!, isOpen: true });
    } else if (own?.isOpen) {
      observeTry(learned, person, own.belief, at, reason);
      if (!charge.approved)
        noteDeclined(own.belief, declinedWith(codeOf(history, bill.charges[0]!), codeOf(history, charge)));
      else {
        own.isOpen = false;
        past.unpaid--;
        past.recovered++;
        past.lastReason = own.reason;
      }
    } else continue;
    if (before && !charge.isPresumed)
      for (const belief of others) observeBeside(belief, at, reason, before, person.cycles);
  }
  const open = cases.get(last);
  if (!open) throw new RangeError("the last bill of the history was approved, so there is no case");
  return { person, belief: open.belief };
}

/** All charges, oldest first; of the same moment in the order of the bills. */
const inOrder = (bills: readonly PastBill[]) =>
  bills
    .flatMap((bill) => bill.charges.map((charge) => [bill, charge] as const))
    .sort(([, one], [, other]) => one.at.getTime() - other.at.getTime());

/** Why a charge failed; null: it did not. */
const reasonOf = ({ instrument }: History, { approved, codes }: PastCharge): Reason | null =>
  approved ? null : codes ? declineGroup(codes, instrument) : "UNKNOWN";

/** The name by which a code is learned, whatever stands around it. Of a debit 1 and 01 may be two reasons. */
export const learnedCode = (instrument: Instrument, code: string) =>
  isCard(instrument) ? plainCode(code) : withoutWords(code).trim();

/** The code of a decline; null: nobody said one. */
function codeOf(history: History, { codes }: PastCharge): string | null {
  const response = codes?.networkDeclineCode ?? null;
  return response === null ? (codes?.gatewayCode?.trim() ?? null) : learnedCode(history.instrument, response);
}

const schemeName = ({ paymentMethodType: type }: Pick<PastBill, "paymentMethodType">) => type && schemeOf(type);

/** A bill's first charge: the case that began with it; null when it was approved. */
function recallFirst(
  learned: Learned,
  history: History,
  booking: number,
  person: Person,
  past: Past,
  bill: PastBill,
  reason: Reason | null,
  names: ReturnType<typeof namesOf>,
): Belief | null {
  const first = bill.charges[0]!;
  const at = first.at.getTime();
  const bookingOfBill =
    schemeName(bill) === schemeName(history.traits) ? booking : bookingOf(learned, bill.paymentMethodType);
  const clock = { offsetMs: history.offsetAt(at), booking: bookingOfBill };
  const advice = first.codes?.networkAdviceCode ?? null;
  const traits: Traits = {
    ...history.traits,
    dollars: bill.dollars,
    declineCode: codeOf(history, first),
    adviceCode: advice && learnedCode(history.instrument, advice),
    past,
  };
  if (!first.isPresumed) observeFirst(learned, person, names("f", traits), clock, at, reason);
  past.firsts++;
  if (reason === null) return null;
  past.declined++;
  past.unpaid++;
  const recent = history.bills
    .flatMap(({ charges }) => charges.map((charge) => charge.at.getTime()))
    .filter((time) => time <= at && time > at - WEEK_MS);
  return newBelief(learned, person, {
    reason,
    code: traits.declineCode,
    standing: standingOf(past),
    names: names("r", traits),
    codeName: codeWeight(traits),
    rows: caseRows(traits),
    clock,
    failedAt: at,
    recent,
  });
}
