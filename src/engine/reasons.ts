import { toDisplayText } from "../domain/display-text.ts";
import { paymentMethodName } from "../domain/payment-method-names.ts";
import { RENEWAL_WORDS } from "../domain/recovery-action.ts";
import type { CandidateTime } from "./candidate-times.ts";
import type { CustomerLocale } from "./customer-locale.ts";
import { type DecisionContext, retriesLeftOf } from "./decision-context.ts";
import type { Decision, DecisionFacts } from "./decision-facts.ts";
import { formatDay, formatZonedTime, localDay } from "./local-time.ts";
import type { Ruling } from "./rules/attempt-ledger.ts";
import { type DeclineGroup, endsRetries } from "./rules/decline-groups.ts";
import { hasKnownRules } from "./rules/instrument.ts";
import { describeCodes, type InterpretedDecline } from "./rules/interpret-decline.ts";

const GROUP_WORDING: Readonly<Record<DeclineGroup, string>> = {
  REVOKED: "the customer revoked the payment",
  FRAUD: "fraud is suspected",
  HARD_CARD: "the card or account can no longer be charged",
  INVALID_DATA: "the card or account data is wrong",
  EXPIRED: "the card has expired or was replaced",
  AUTH_REQUIRED: "the bank wants the customer to confirm",
  LIMIT: "a spending limit was reached",
  FUNDS: "there was not enough money",
  ISSUER_DOWN: "the bank could not be reached",
  GENERIC: "the bank gave no clear reason",
  UNKNOWN: "no reason was given",
};

const NEW_CARD_REASON = "The customer has a new card or payment method.";
export const NEW_CARD_RETRY_REASON = "The customer has a new card or payment method, so a retry may succeed.";

/** Null: none on the current card. */
export function describeDecline(decline: InterpretedDecline | null, isNewCard: boolean): string {
  if (isNewCard) return NEW_CARD_REASON;
  if (!decline) return "No failed attempt with the current card was reported, so the reason is unknown.";
  return describeFailure("The last attempt", decline);
}

const RENEWAL_PHRASE = `${RENEWAL_WORDS} telling the merchant`;

/** Whether a retry's reasons say that it follows a decline that ends retries, for a card that the bank may renew. */
export const isRetryOfRenewableCard = (reasons: readonly string[]) =>
  reasons.some((reason) => reason.includes(RENEWAL_WORDS));

/** Besides the card request; null unless a decline ended retries. */
export function describeRenewal({ cardChange }: DecisionFacts, decline: InterpretedDecline | null): string | null {
  if (cardChange === null || decline === null || !endsRetries(decline.group)) return null;
  const renewal = `Banks sometimes ${RENEWAL_PHRASE}, so Dunlin retries the current card`;
  return cardChange === "unasked" ? `${renewal}.` : `${CARD_REQUEST_WORDING[cardChange]} ${renewal} too.`;
}

const CARD_REQUEST_WORDING = {
  awaited: "The customer is asked for another card.",
  expired: "The customer was asked for another card, and none came.",
} as const;

/** `which`: "The last attempt". */
export function describeFailure(which: string, { group, words, codes }: InterpretedDecline): string {
  const codesText = describeCodes(codes);
  const unknown = codesText === null ? " without a reason" : " with an unknown code";
  const why = group === "UNKNOWN" ? unknown : `: ${words ?? GROUP_WORDING[group]}`;
  return `${which} failed${why}${codesText === null ? "" : ` (${codesText})`}.`;
}

/** `at` is later if the time has just passed. */
export function explainTime(candidate: CandidateTime, at: number, locale: CustomerLocale): string {
  const time = formatZonedTime(locale.zone, at);
  const day = formatDay(localDay(locale.zone, candidate.at));
  switch (candidate.why) {
    case "pay_day":
      return `${day} is a likely pay day${describeCountry(locale.country)} (${candidate.payDay!.words}), so the next retry is on that morning, after payments were booked overnight: ${time}.`;
    case "day_turn":
      return `Limits usually reset at midnight, so the next retry is on ${time}.`;
    case "month_turn":
      return `Limits usually reset with a new month, so the next retry is on ${time}.`;
    case "outage":
      return `Such faults usually end within hours, so the next retry is soon: ${time}.`;
    case "new_card":
      return `The first retry with it comes about an hour later: ${time}.`;
    case "last_chance":
      return `Better times were missed and the recovery window ends soon, so the retry comes at once: ${time}.`;
    case "morning":
      return `The remaining retries are spaced evenly over the remaining days, each in the local morning: ${time}.`;
    case "after_quiet":
      return `The next hour that allows a retry is used: ${time}.`;
    case "even":
      return `The remaining retries are spaced evenly over the remaining time: ${time}.`;
  }
}

/**
 * @param why  reasons for the time
 * @param heldBackBy  the rule that delayed the retry; null: none
 * @param timeFor  more retries that fit before the window ends, if they fail like the latest one
 */
export function buildRetryDecision(
  context: DecisionContext,
  at: number,
  why: string[],
  heldBackBy: Ruling | null,
  timeFor: number,
): Decision {
  const { facts, locale } = context;
  const unknown = describeUnknownMethod(context);
  const { count, rule } = retriesLeftOf(context);
  const retriesLeft = describeRetriesLeft(
    count - 1,
    timeFor,
    formatDay(localDay(locale.zone, facts.windowEndsAt.getTime())),
  );
  const leftByRule = rule && count - 1 <= timeFor ? `${retriesLeft} ${rule.sentence}` : null;
  return {
    kind: "retry",
    at: new Date(at),
    suggestion: unknown ? "UNSPECIFIED" : "RETRY",
    reasons: withoutNulls(...why, heldBackBy?.sentence ?? null, unknown, leftByRule ?? retriesLeft),
    rules: withoutNulls(unknown, leftByRule),
  };
}

function describeRetriesLeft(allowed: number, timeFor: number, windowEnds: string): string {
  const fit = Math.max(0, Math.floor(timeFor));
  if (allowed <= 0) return `This is the last retry possible before the window ends on ${windowEnds}.`;
  const moreText = allowed === 1 ? "1 more retry" : `${allowed} more retries`;
  if (allowed <= fit)
    return `After this one, ${moreText} ${allowed > 1 ? "are" : "is"} possible before the window ends on ${windowEnds}.`;
  const fitText = fit === 0 ? (allowed === 1 ? "no time for it" : "no time for any") : `time for about ${fit} of them`;
  return `After this one, ${moreText} would be allowed, but there is ${fitText} before the window ends on ${windowEnds}.`;
}

/** Null if known. */
function describeUnknownMethod({ facts, guard }: DecisionContext): string | null {
  if (hasKnownRules(facts)) return null;
  const type = toDisplayText(facts.paymentMethodType!);
  const words = paymentMethodName(type);
  const payments = `payments by ${words === type ? `"${type}"` : words}`;
  return guard.limits.length === 0
    ? `No rules are known for ${payments}, so the merchant decides how to retry.`
    : `How ${payments} are retried is the merchant's decision.`;
}

export const CONFIRM_PHRASE = "to confirm the payment or to give another card or payment method";

/** No rule blocks the card. */
export const canConfirm = ({ decline, guard }: Pick<DecisionContext, "decline" | "guard">) =>
  decline?.group === "AUTH_REQUIRED" && !guard.block && !guard.usedUp;

export const describeAwaitedCard = (context: DecisionContext) =>
  canConfirm(context)
    ? `The customer is asked ${CONFIRM_PHRASE}, and may still do so.`
    : "The customer is asked for another card or payment method, and it may still come.";

/** Also after the deadline; null if no card was requested. */
export function describeCardWait(context: DecisionContext): string | null {
  const { facts, locale } = context;
  if (facts.cardChange === "awaited") return describeAwaitedCard(context);
  if (facts.cardChange !== "expired") return null;
  const [askedOn, ends] = [facts.cardAskedAt!, facts.windowEndsAt].map((at) =>
    formatDay(localDay(locale.zone, at.getTime())),
  );
  if (canConfirm(context))
    return `The customer was asked on ${askedOn} ${CONFIRM_PHRASE}, without an answer so far. The case stays open until the recovery window ends on ${ends}.`;
  return `The customer was asked for another card or payment method on ${askedOn}, and none came so far. The case stays open until the recovery window ends on ${ends}.`;
}

const withoutNulls = (...sentences: (string | null)[]) => sentences.filter((words) => words !== null);

export const joinSentences = (sentences: readonly (string | null)[]) => withoutNulls(...sentences).join(" ");

/** Without a planned retry. */
export function describeBudget(facts: DecisionFacts) {
  return facts.budgetLeft > 0
    ? `Retries left in the budget: ${facts.budgetLeft}.`
    : "All retries of the budget were requested.";
}

const countryNames = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

function describeCountry(country: string | null) {
  const name = country !== null && /^[A-Z]{2}$/.test(country) ? countryNames.of(country) : undefined;
  if (name === undefined) return "";
  return ` in ${/^(United|Netherlands|Philippines|Czech Republic)/.test(name) ? "the " : ""}${name}`;
}
