import { formatMoneyText } from "../domain/currency.ts";
import type { DecisionAccount, ExcludedPeriod } from "../domain/decision.ts";
import { toDisplayText } from "../domain/display-text.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../domain/durations.ts";
import { cardBrandName, paymentMethodName } from "../domain/payment-method-names.ts";
import type { PolicyDecision } from "./decide-learned.ts";
import type { DecisionContext } from "./decision-context.ts";
import { findDebitEndRule } from "./give-up.ts";
import type { CustomerHistory } from "./infer-posterior.ts";
import { formatDay, formatZonedTime, localDay, type Zone } from "./local-time.ts";
import { describeQuietTimes } from "./quiet-times.ts";
import { CONFIRM_PHRASE, canConfirm, describeAwaitedCard, describeDecline } from "./reasons.ts";
import { findForbiddingRule, forbidsAnyTime } from "./rules/guard.ts";
import { SOURCES, type Source } from "./rules/sources.ts";

const YEAR_MS = 366 * DAY_MS;
/** Also checked between, where they change. */
const RULE_CHECK_STEP_MS = 4 * HOUR_MS;
export const lastsToWindowEnd = ({ to }: ExcludedPeriod, windowEndsAt: Date) => to >= windowEndsAt;
const MAX_LISTED_ATTEMPTS = 4;
const MAX_LISTED_QUIET_TIMES = 3;

/**
 * @param fallback  why the static policy decided instead; null: it did not
 * @param before  the case's previous decision; null: this is the first
 */
export function buildAccount(
  context: DecisionContext,
  { decision, chosen, outlook }: Pick<PolicyDecision, "decision" | "chosen" | "outlook">,
  fallback: string | null,
  before: Pick<DecisionAccount, "known" | "about"> | null,
): DecisionAccount {
  const { reasons } = decision;
  const { notBefore } = context.guard;
  const { known, knowsFailure, ...counted } = listFacts(context, reasons);
  const about = {
    wait: positionsOf(reasons, notBefore ? [notBefore.sentence] : []),
    rule: positionsOf(reasons, decision.kind === "retry" ? decision.rules : []),
    ...counted,
  };
  return {
    reasons,
    known,
    about,
    knowsFailure,
    changed: before ? findNewFacts(selectLastingFacts(before), selectLastingFacts({ known, about })) : [],
    ruledOut: findRuledOutTimes(context),
    ...(outlook() ?? { days: [], hours: [], even: null }),
    drawn: chosen?.isSampled ?? false,
    hourDrawn: chosen?.isHourSampled ?? false,
    spread: chosen?.isEvenlySpaced ?? false,
    fallback,
  };
}

const positionsOf = (sentences: readonly string[], those: readonly string[]) =>
  sentences.flatMap((sentence, index) => (those.includes(sentence) ? index : []));

/** Leaves out counts, which change as time passes. */
const selectLastingFacts = ({ known, about: { limit, tally } }: Pick<DecisionAccount, "known" | "about">) =>
  known.filter((_, index) => !limit.includes(index) && !tally.includes(index));

/** Else those that no longer hold: a new fact mostly replaces an old one. */
function findNewFacts(before: readonly string[], facts: readonly string[]): string[] {
  const added = facts.filter((fact) => !before.includes(fact));
  if (added.length > 0) return added;
  return before.filter((fact) => !facts.includes(fact)).map((fact) => `No longer true: ${fact}`);
}

/** Sentences stay the same while their facts do, except for counts. */
function listFacts(context: DecisionContext, reasons: readonly string[]) {
  const { facts, history, decline, isNewCard, locale } = context;
  const { budgetLeft } = facts;
  const { tally, tried, knowsFailure } = describeFailedAttempts(context);
  const limit = describeLimits(context, reasons);
  const sentences = [
    describeDecline(decline, isNewCard),
    ...tally,
    ...tried,
    describePayment(context),
    ...(history ? [describeSubscription(history)] : []),
    ...limit,
    ...describeCard(context),
    ...(history ? [describePastInvoices(history, locale.zone), ...describeOtherInvoices(history, locale.zone)] : []),
    ...(facts.quietTimes
      ? [`${facts.quietTimes.rule} allows no retries ${describeQuietTimes(facts.quietTimes)}.`]
      : []),
    `The window is open until ${formatTime(context, facts.windowEndsAt)}.`,
    `${budgetLeft === 0 ? "No retry" : formatCount(budgetLeft, "retry", "retries")} of the budget ${budgetLeft > 1 ? "are" : "is"} left.`,
  ];
  return { known: sentences, knowsFailure, limit: positionsOf(sentences, limit), tally: positionsOf(sentences, tally) };
}

const formatTime = ({ locale }: DecisionContext, at: Date) => formatZonedTime(locale.zone, at.getTime());

/** Failed ones first, then those without a known result. */
function describeFailedAttempts(context: DecisionContext) {
  const attempts = context.facts.ledger.filter(({ onThisInvoice }) => onThisInvoice);
  const failed = attempts.filter(({ approved }) => approved === false);
  const open = attempts.filter(({ approved }) => approved === null).slice(-MAX_LISTED_ATTEMPTS);
  const listedAttempts = failed.slice(-MAX_LISTED_ATTEMPTS);
  const unlistedCount = failed.length - listedAttempts.length;
  const tally =
    unlistedCount > 0 ? [`${formatCount(unlistedCount, "attempt", "attempts")} failed before the following ones.`] : [];
  // Without codes it was never pushed: it is the first attempt.
  const sentences = listedAttempts.map(({ at, codes }) =>
    codes === null
      ? `A first attempt is assumed to have failed when the invoice became unpaid, on ${formatTime(context, at)}.`
      : `An attempt failed on ${formatTime(context, at)}.`,
  );
  for (const { at, codes } of open) {
    const description = codes === null ? "A retry was requested" : "An attempt was made";
    sentences.push(`${description} on ${formatTime(context, at)}, and its outcome is not known.`);
  }
  return { tally, tried: sentences, knowsFailure: listedAttempts.some(({ codes }) => codes !== null) };
}

/** @param reasons  their sentences about retries left are not repeated */
function describeLimits(context: DecisionContext, reasons: readonly string[]): string[] {
  const { facts, now, guard } = context;
  const { limits, attemptsLeft } = guard;
  const timesWithin = ({ times, windowMs }: (typeof limits)[number]) => times.filter((time) => time >= now - windowMs);
  const counting = new Set(limits.filter(({ counts }) => counts !== "invoice").flatMap(timesWithin));
  const otherCount = facts.ledger.filter(
    ({ at, onPresentCard, onThisInvoice, approved, isUnsent }) =>
      onPresentCard && !onThisInvoice && !isUnsent && approved !== true && counting.has(at.getTime()),
  ).length;
  // A rule may give its limit without the invoice's first attempt.
  const sentences = limits.map(
    (limit) =>
      `${limit.sentence} Counted so far${limit.counts === "invoice" ? ", including the first" : ""}: ${timesWithin(limit).length}.`,
  );
  if (otherCount > 0)
    sentences.unshift(
      `${formatCount(otherCount, "declined or unanswered attempt on another invoice counts", "declined or unanswered attempts on other invoices count")} toward this card's limits.`,
    );
  if (attemptsLeft && !reasons.some((reason) => reason.includes(attemptsLeft.sentence)))
    sentences.push(
      `${attemptsLeft.sentence} Retries left by this rule: ${describeAttemptsLeft(context, attemptsLeft.count)}.`,
    );
  return sentences;
}

/** Some return codes leave none. */
const describeAttemptsLeft = (context: DecisionContext, count: number) =>
  findDebitEndRule(context) ? "none, after such a decline" : Number.isFinite(count) ? `${count}` : "any number";

function describeCard(context: DecisionContext): string[] {
  const { cardChangedAt, cardChange, issuerDownAt } = context.facts;
  const sentences: string[] = [];
  if (cardChangedAt) sentences.push(`The card or payment method was changed on ${formatTime(context, cardChangedAt)}.`);
  if (cardChange === "awaited") sentences.push(describeAwaitedCard(context));
  if (cardChange === "expired")
    sentences.push(
      canConfirm(context)
        ? `The customer was asked ${CONFIRM_PHRASE}, without an answer within seven days.`
        : "The customer was asked for another card or payment method, and none came within seven days.",
    );
  if (issuerDownAt)
    sentences.push(
      `The bank appears to be down. Payments of several customers failed to reach it, most recently on ${formatTime(context, issuerDownAt)}.`,
    );
  return sentences;
}

export const describeLocalTime = ({ name }: Zone) => `Time zone: ${name}.`;

function describePayment({ facts, history, locale }: DecisionContext): string {
  const { paymentMethodType, network, cardCountry } = facts;
  const type =
    paymentMethodType === null ? "an unknown payment method" : paymentMethodName(toDisplayText(paymentMethodType));
  const { funding, issuer } = history?.traits ?? { funding: null, issuer: null };
  const joinTexts = (...texts: (string | null)[]) =>
    texts.flatMap((text) => (text ? toDisplayText(text) : [])).join(" ");
  const brand = network && cardBrandName(network);
  const card = [
    joinTexts(brand, funding),
    joinTexts(cardCountry),
    issuer ? `issued by ${toDisplayText(issuer)}` : "",
  ].filter((text) => text !== "");
  const amount = formatMoneyText(facts.amount, facts.currency);
  return `${amount} is due, to be paid by ${type}${card.length === 0 ? "" : ` (${card.join(", ")})`}. ${describeLocalTime(locale.zone)}`;
}

function describeSubscription({ traits: { tenureDays, billingPeriod, billingPeriodUnit } }: CustomerHistory): string {
  if (tenureDays === null) return "The invoice belongs to no known subscription.";
  const days = Math.floor(tenureDays);
  const beganText = `began ${days < 1 ? "less than a day" : formatCount(days, "day", "days")} before the invoice failed`;
  if (billingPeriod === null || billingPeriodUnit === null)
    return `The billing period of the subscription is unknown; it ${beganText}.`;
  const unit = billingPeriodUnit.toLowerCase();
  return `The subscription is billed every ${billingPeriod === 1 ? unit : `${billingPeriod} ${unit}s`}, and ${beganText}.`;
}

function describePastInvoices({ invoices }: CustomerHistory, zone: Zone): string {
  const beganAt = invoices.at(-1)!.charges[0]!.at;
  const earlier = invoices.slice(0, -1).filter(({ charges }) => charges[0]!.at < beganAt);
  if (earlier.length === 0) return "No earlier invoice of this customer is known.";
  const failed = earlier.filter(({ charges }) => charges[0]!.approved === false);
  const summary =
    earlier.length === 1
      ? `The previous invoice's first attempt was ${failed.length === 0 ? "not " : ""}declined.`
      : `The first attempt was declined on ${failed.length === 0 ? "none" : failed.length} of the latest ${earlier.length} invoices before this one.`;
  const paid = failed.flatMap(({ charges }) => charges.findLast(({ approved }) => approved)?.at ?? []);
  const days = [...new Set(paid.sort((a, b) => +a - +b).map((at) => formatDay(localDay(zone, +at))))];
  if (days.length === 0) return summary;
  const intro =
    days.length > MAX_LISTED_ATTEMPTS
      ? "The latest days on which declined invoices were paid are"
      : "Declined invoices were paid on";
  return `${summary} ${intro} ${days.slice(-MAX_LISTED_ATTEMPTS).join(", ")}.`;
}

/** Charges since the case began. */
function describeOtherInvoices({ invoices }: CustomerHistory, zone: Zone): string[] {
  const since = invoices.at(-1)!.charges[0]!.at;
  return invoices
    .slice(0, -1)
    .flatMap(({ charges }) => charges.filter(({ at }) => at > since))
    .sort((a, b) => +a.at - +b.at)
    .slice(-MAX_LISTED_ATTEMPTS)
    .map(
      ({ at, approved }) =>
        `Another invoice of this customer was ${approved ? "paid" : "declined"} on ${formatZonedTime(zone, at.getTime())}.`,
    );
}

const formatCount = (number: number, singular: string, plural: string) =>
  `${number} ${number === 1 ? singular : plural}`;

function findRuledOutTimes(context: DecisionContext): ExcludedPeriod[] {
  const { facts, guard, now } = context;
  const scheme = findDebitEndRule(context);
  const found: ExcludedPeriod[] = [];
  if (!scheme && !forbidsAnyTime(guard)) return found;
  let quietCount = 0;
  const end = Math.min(facts.windowEndsAt.getTime(), now + YEAR_MS);
  const rulingAt = (at: number) => findForbiddingRule(guard, at) ?? scheme;
  for (let from = now; from < end; ) {
    const ruling = rulingAt(from);
    const isSame = (at: number) => rulingAt(at)?.sentence === ruling?.sentence;
    let lastSame = from;
    while (lastSame + RULE_CHECK_STEP_MS < end && isSame(lastSame + RULE_CHECK_STEP_MS)) lastSame += RULE_CHECK_STEP_MS;
    const to = findFirstChange(lastSame, Math.min(lastSame + RULE_CHECK_STEP_MS, end), isSame);
    // Quiet hours may come each night, and one of the facts names them all.
    if (ruling && (ruling.source !== SOURCES.recoveryRule || quietCount++ < MAX_LISTED_QUIET_TIMES))
      found.push({
        rule: ruling.sentence,
        source: citeWithAnchor(ruling.source),
        from: new Date(from),
        to: new Date(to),
      });
    from = to;
  }
  return found;
}

/** To the minute. */
function findFirstChange(from: number, to: number, isSame: (at: number) => boolean): number {
  if (to - from <= MINUTE_MS) return to;
  const middle = (from + to) / 2;
  return isSame(middle) ? findFirstChange(middle, to, isSame) : findFirstChange(from, middle, isSame);
}

const citeWithAnchor = ({ document, date, anchor, verified }: Source) =>
  `${document}, ${date}; docs/sources.md#${anchor}${verified ? "" : ", not verified"}`;
