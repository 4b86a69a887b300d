import { moneyWords } from "../domain/currency.ts";
import type { Account, RuledOut } from "../domain/decision.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../domain/durations.ts";
import { brandWords, wayWords } from "../domain/payment-words.ts";
import { shownText } from "../domain/shown-text.ts";
import { forbiddenAt, forbidsAny } from "../rules/guard.ts";
import type { Source } from "../rules/sources.ts";
import type { LearnedDecision } from "./decide-learned.ts";
import { endedDebit } from "./give-up.ts";
import { dayWords, localDay, momentWords, type Zone } from "./local-time.ts";
import { cardAwaitedWords, declineWords, mayConfirm, TO_CONFIRM } from "./reasons.ts";
import type { History } from "./recall.ts";
import type { Situation } from "./situation.ts";

const YEAR_MS = 366 * DAY_MS;
/** The rules are asked about every fourth hour, and where they change, about the hours between. */
const STEP_MS = 4 * HOUR_MS;
/** Whether what a rule forbids goes on to the end of the window. */
export const isToEnd = ({ to }: RuledOut, windowEndsAt: Date) => to >= windowEndsAt;
const LIST_MAX = 4;

/**
 * What a decision rested on, for people.
 *
 * @param fallback  why the static policy decided in place of the learned engine; null: it did not
 * @param before  the decision before in the same case; null: this is the first
 */
export function accountOf(
  { situation, decision, chosen, outlook }: Omit<LearnedDecision, "isLearned">,
  history: History | null,
  fallback: string | null,
  before: Pick<Account, "known" | "about"> | null,
): Account {
  const { reasons } = decision;
  const { notBefore } = situation.guard;
  const { known, knowsFailure, ...counted } = factsOf(situation, history, reasons);
  const about = {
    wait: places(reasons, notBefore ? [notBefore.sentence] : []),
    rule: places(reasons, decision.kind === "retry" ? decision.rules : []),
    ...counted,
  };
  return {
    reasons,
    known,
    about,
    knowsFailure,
    changed: before ? changedSince(lasting(before), lasting({ known, about })) : [],
    ruledOut: ruledOut(situation),
    ...(outlook() ?? { days: [], hours: [], even: null }),
    drawn: chosen?.drawn ?? false,
    hourDrawn: chosen?.hourDrawn ?? false,
    spread: chosen?.spread ?? false,
    fallback,
  };
}

const places = (sentences: readonly string[], those: readonly string[]) =>
  sentences.flatMap((sentence, place) => (those.includes(sentence) ? place : []));

/** What is known, but for what is counted: that changes as time passes. */
const lasting = ({ known, about: { limit, tally } }: Pick<Account, "known" | "about">) =>
  known.filter((_, place) => !limit.includes(place) && !tally.includes(place));

/** What is new; where nothing is, what is known no longer: beside what is new it mostly gave way to that. */
function changedSince(before: readonly string[], facts: readonly string[]): string[] {
  const added = facts.filter((fact) => !before.includes(fact));
  if (added.length > 0) return added;
  return before.filter((fact) => !facts.includes(fact)).map((fact) => `Known before, and no longer: ${fact}`);
}

/** What was known, in sentences that stay the same as long as it does, but for what is counted: that falls as time passes. */
function factsOf(situation: Situation, history: History | null, reasons: readonly string[]) {
  const { known, decline, isNewCard, place } = situation;
  const { budgetLeft } = known;
  const { tally, tried, knowsFailure } = triedWords(situation);
  const limit = limitWords(situation, reasons);
  const facts = [
    declineWords(decline, isNewCard),
    ...tally,
    ...tried,
    payerWords(situation, history),
    ...(history ? [subscriptionWords(history)] : []),
    ...limit,
    ...cardWords(situation),
    ...(history ? [pastWords(history, place.zone), ...besideWords(history, place.zone)] : []),
    `The window is open until ${when(situation, known.windowEndsAt)}.`,
    `${budgetLeft === 0 ? "No retry" : count(budgetLeft, "retry", "retries")} of the budget ${budgetLeft > 1 ? "are" : "is"} left.`,
  ];
  return { known: facts, knowsFailure, limit: places(facts, limit), tally: places(facts, tally) };
}

const when = ({ place }: Situation, at: Date) => momentWords(place.zone, at.getTime());

/** The latest tries of the invoice that were not approved: those that failed, then those of which nobody knows. */
function triedWords(situation: Situation) {
  const tries = situation.known.ledger.filter(({ onThisInvoice }) => onThisInvoice);
  const failed = tries.filter(({ approved }) => approved === false);
  const open = tries.filter(({ approved }) => approved === null).slice(-LIST_MAX);
  const named = failed.slice(-LIST_MAX);
  const more = failed.length - named.length;
  const tally = more > 0 ? [`${count(more, "try", "tries")} failed before those that follow.`] : [];
  // Without codes nobody reported it: it is the first try, which must have been.
  const tried = named.map(({ at, codes }) =>
    codes === null
      ? `A first try is taken to have failed when the invoice became unpaid, on ${when(situation, at)}.`
      : `A try failed on ${when(situation, at)}.`,
  );
  for (const { at, codes } of open) {
    const done = codes === null ? "asked for" : "made";
    tried.push(`A try was ${done} on ${when(situation, at)}, and how it ended is not known.`);
  }
  return { tally, tried, knowsFailure: named.some(({ codes }) => codes !== null) };
}

/**
 * How far the rules' limits are used.
 *
 * @param reasons  of the decision: what they say of tries left is not said again
 */
function limitWords(situation: Situation, reasons: readonly string[]): string[] {
  const { known, now, guard } = situation;
  const { limits, triesLeft } = guard;
  const within = ({ times, windowMs }: (typeof limits)[number]) => times.filter((time) => time >= now - windowMs);
  const counting = new Set(limits.filter(({ counts }) => counts !== "invoice").flatMap(within));
  const others = known.ledger.filter(
    ({ at, onPresentCard, onThisInvoice, approved, isUnsent }) =>
      onPresentCard && !onThisInvoice && !isUnsent && approved !== true && counting.has(at.getTime()),
  ).length;
  // Of an invoice the first try is counted as one, and what a rule allows may be said without it.
  const words = limits.map(
    (limit) =>
      `${limit.sentence} Counted so far${limit.counts === "invoice" ? ", with the first one" : ""}: ${within(limit).length}.`,
  );
  if (others > 0)
    words.unshift(
      `${count(others, "try of another invoice counts", "tries of other invoices count")} for this card, declined or not answered.`,
    );
  if (triesLeft && !reasons.some((reason) => reason.includes(triesLeft.sentence)))
    words.push(`${triesLeft.sentence} Tries left by this rule: ${leftWords(situation, triesLeft.count)}.`);
  return words;
}

/** How many tries a debit's scheme leaves, of which a return code may leave none. */
const leftWords = (situation: Situation, count: number) =>
  endedDebit(situation) ? "none, after such a decline" : Number.isFinite(count) ? `${count}` : "any number";

/** What became of the card, and of its bank. */
function cardWords(situation: Situation): string[] {
  const { cardChangedAt, cardChange, issuerDownAt } = situation.known;
  const words: string[] = [];
  if (cardChangedAt) words.push(`The card or payment method was changed on ${when(situation, cardChangedAt)}.`);
  if (cardChange === "awaited") words.push(cardAwaitedWords(situation));
  if (cardChange === "expired")
    words.push(
      mayConfirm(situation)
        ? `The customer was asked ${TO_CONFIRM}, and nothing came of it within seven days.`
        : "The customer was asked for another card or payment method, and none came within seven days.",
    );
  if (issuerDownAt)
    words.push(
      `Payments of several customers could not reach the bank, the last one on ${when(situation, issuerDownAt)}.`,
    );
  return words;
}

export const localTimeWords = ({ name }: Zone) => `Local time is that of ${name}.`;

function payerWords({ known, place }: Situation, history: History | null): string {
  const { paymentMethodType, network, cardCountry } = known;
  const type =
    paymentMethodType === null ? "a payment method that was not named" : wayWords(shownText(paymentMethodType));
  const { funding, issuer } = history?.traits ?? { funding: null, issuer: null };
  const shown = (...texts: (string | null)[]) => texts.flatMap((each) => (each ? shownText(each) : [])).join(" ");
  const brand = network && brandWords(network);
  const card = [shown(brand, funding), shown(cardCountry), issuer ? `issued by ${shownText(issuer)}` : ""].filter(
    (each) => each !== "",
  );
  const amount = moneyWords(known.amount, known.currency);
  return `${amount} is due, to be paid by ${type}${card.length === 0 ? "" : ` (${card.join(", ")})`}. ${localTimeWords(place.zone)}`;
}

/** What the learned engine looks at of the subscription: how long it had lasted, and how often it is billed. */
function subscriptionWords({ traits: { tenureDays, billingPeriod, billingPeriodUnit } }: History): string {
  if (tenureDays === null) return "The invoice is of no subscription that is known.";
  const days = Math.floor(tenureDays);
  const began = `began ${days < 1 ? "less than a day" : count(days, "day", "days")} before the invoice failed`;
  if (billingPeriod === null || billingPeriodUnit === null)
    return `How often the subscription is billed is not known; it ${began}.`;
  const unit = billingPeriodUnit.toLowerCase();
  return `The subscription is billed every ${billingPeriod === 1 ? unit : `${billingPeriod} ${unit}s`}, and ${began}.`;
}

/** How the bills went that came before this one: the latest ones are known. */
function pastWords({ bills }: History, zone: Zone): string {
  const began = bills.at(-1)!.charges[0]!.at;
  const earlier = bills.slice(0, -1).filter(({ charges }) => charges[0]!.at < began);
  if (earlier.length === 0) return "No earlier bill of this customer is known.";
  const failed = earlier.filter(({ charges }) => charges[0]!.approved === false);
  const said =
    earlier.length === 1
      ? `The bill before this one was ${failed.length === 0 ? "not " : ""}declined at first.`
      : `Of the latest ${earlier.length} bills before this one ${failed.length === 0 ? "none was" : count(failed.length, "was", "were")} declined at first.`;
  const paid = failed.flatMap(({ charges }) => charges.findLast(({ approved }) => approved)?.at ?? []);
  const days = [...new Set(paid.sort((a, b) => +a - +b).map((at) => dayWords(localDay(zone, +at))))];
  if (days.length === 0) return said;
  const which =
    days.length > LIST_MAX ? "The latest days on which declined ones were paid are" : "Declined ones were paid on";
  return `${said} ${which} ${days.slice(-LIST_MAX).join(", ")}.`;
}

/** How charges of the customer's other bills went since the case began. */
function besideWords({ bills }: History, zone: Zone): string[] {
  const since = bills.at(-1)!.charges[0]!.at;
  return bills
    .slice(0, -1)
    .flatMap(({ charges }) => charges.filter(({ at }) => at > since))
    .sort((one, other) => +one.at - +other.at)
    .slice(-LIST_MAX)
    .map(
      ({ at, approved }) =>
        `Another bill of this customer was ${approved ? "paid" : "declined"} on ${momentWords(zone, at.getTime())}.`,
    );
}

const count = (number: number, one: string, more: string) => `${number} ${number === 1 ? one : more}`;

/** Which rules leave no try when, from the decision to the end of the window. */
function ruledOut(situation: Situation): RuledOut[] {
  const { known, guard, now } = situation;
  const scheme = endedDebit(situation);
  const found: RuledOut[] = [];
  if (!scheme && !forbidsAny(guard)) return found;
  const end = Math.min(known.windowEndsAt.getTime(), now + YEAR_MS);
  const rulingAt = (at: number) => forbiddenAt(guard, at) ?? scheme;
  for (let from = now; from < end; ) {
    const ruling = rulingAt(from);
    const isSame = (at: number) => rulingAt(at)?.sentence === ruling?.sentence;
    let same = from;
    while (same + STEP_MS < end && isSame(same + STEP_MS)) same += STEP_MS;
    const to = firstOther(same, Math.min(same + STEP_MS, end), isSame);
    if (ruling)
      found.push({ rule: ruling.sentence, source: cited(ruling.source), from: new Date(from), to: new Date(to) });
    from = to;
  }
  return found;
}

/** The first moment that is other than `from`, to the minute, where `to` is. */
function firstOther(from: number, to: number, isSame: (at: number) => boolean): number {
  if (to - from <= MINUTE_MS) return to;
  const middle = (from + to) / 2;
  return isSame(middle) ? firstOther(middle, to, isSame) : firstOther(from, middle, isSame);
}

const cited = ({ document, date, anchor, verified }: Source) =>
  `${document}, ${date}; docs/sources.md#${anchor}${verified ? "" : ", not verified"}`;
