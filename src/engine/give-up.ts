import type { DecisionContext } from "./decision-context.ts";
import type { Decision, DecisionFacts } from "./decision-facts.ts";
import { formatZonedTime } from "./local-time.ts";
import {
  CONFIRM_PHRASE,
  canConfirm,
  describeAwaitedCard,
  describeBudget,
  describeCardWait,
  describeDecline,
  describeFailure,
} from "./reasons.ts";
import type { Ruling } from "./rules/attempt-ledger.ts";
import { findBankDebit } from "./rules/bank-debits.ts";
import { endsRetries } from "./rules/decline-groups.ts";
import type { Guard } from "./rules/guard.ts";
import type { InterpretedDecline } from "./rules/interpret-decline.ts";
import { findFullLimit } from "./rules/plan-limits.ts";

/** Returns null if a retry makes sense. */
export function giveUp(context: DecisionContext): Decision | null {
  const { facts, now, guard, decline, isNewCard } = context;
  const said = describeDecline(decline, isNewCard);
  if (facts.pending && now < facts.pending.until.getTime())
    return { kind: "wait", until: facts.pending.until, reasons: [said, describePending(facts.pending, context)] };
  const bar = findBlockUntilEnd(guard, facts);
  if (isFinalDecline(decline)) {
    const rule = bar?.onThisInvoice && isSameDecline(bar.decline, decline!) ? [bar.sentence] : [];
    return { kind: "stop", end: "hopeless", reasons: [said, ...rule, explainNoCardChange(facts)] };
  }
  if (bar?.onThisInvoice && isFinalDecline(bar.decline))
    return { kind: "stop", end: "hopeless", reasons: [describeBlock(bar), bar.sentence, explainNoCardChange(facts)] };
  if (facts.budgetLeft <= 0) return decideBudgetUsed(context, said);
  const ends = decline !== null && endsRetries(decline.group);
  const full = guard.usedUp ? null : findFullLimit(guard, [now, facts.windowEndsAt.getTime()]);
  const usedUp = guard.usedUp ?? full;
  if (!ends && !bar && !usedUp) return null;
  if (!ends && !bar && hasOutstandingRetry(facts))
    return {
      kind: "wait",
      reasons: ["The last allowed retry was requested, and its outcome is not known yet.", usedUp!.sentence],
    };

  const isTried = ends && decline.renewsItself && !bar;
  // After the request, the current card is retried too. The budget's last retry is kept for the new card while it may still come.
  const isKept = facts.cardChange === "awaited" && facts.budgetLeft === 1;
  if (isTried && facts.cardChange !== null && !isKept) return null;

  // A dispute without a decline needs no sentence about a failure.
  const reasons = bar?.isDispute && !decline ? [] : [said];
  if (bar && !(bar.onThisInvoice && decline && isSameDecline(bar.decline, decline))) reasons.push(describeBlock(bar));
  const ruling = bar ?? usedUp ?? findDebitEndRule(context);
  if (ruling) reasons.push(ruling.sentence);
  const waits = describeCardWait(context);
  if (waits) return { kind: "wait", reasons: [...reasons, waits] };
  // A customer who confirms can keep the card.
  const how = !ruling && canConfirm(context) ? CONFIRM_PHRASE : "for another card or payment method";
  const why = bar
    ? BLOCKED_REASON
    : full
      ? LIMIT_FULL_REASON
      : usedUp
        ? USED_UP_REASON
        : ruling
          ? DEBIT_ENDED_REASON
          : POINTLESS_REASON;
  reasons.push(
    isTried
      ? "The customer is asked for another card or payment method now. Banks renew such cards without notice, so this one may be retried too."
      : `${why}, so the customer is asked ${how} now.`,
  );
  return { kind: "card_change", at: new Date(now), reasons };
}

const BLOCKED_REASON = "By this rule the same card or account is not charged again";
const USED_UP_REASON = "By this rule no retry is left";
const LIMIT_FULL_REASON = "By this rule no retry is allowed before the recovery window ends";
/** For a debit's return code. */
const DEBIT_ENDED_REASON = "After such a decline this rule allows no retry";
const POINTLESS_REASON = "Charging the same card or account again would not help";

const findBlockUntilEnd = ({ bar, lifted }: Guard, { windowEndsAt }: DecisionFacts) =>
  bar ?? (lifted && lifted.at >= windowEndsAt.getTime() ? lifted : null);

/** Another invoice's decline may have been on a substitute or unnamed card, and counts all the same. */
const describeBlock = ({ decline, onThisInvoice, isDispute }: NonNullable<Guard["bar"]>) =>
  isDispute
    ? `The customer disputed ${onThisInvoice ? "a payment of this invoice" : "a payment of another invoice, made with the same card or account"}.`
    : describeFailure(
        onThisInvoice ? "An earlier attempt" : "An attempt for another invoice that counts for this card",
        decline,
      );

const isSameDecline = (one: InterpretedDecline, other: InterpretedDecline) =>
  describeFailure("It", one) === describeFailure("It", other);

/** Neither time nor a new card can help. */
const isFinalDecline = (read: InterpretedDecline | null) => read?.group === "REVOKED" || read?.group === "FRAUD";

/** The merchant may contact the customer, but that is not a matter of dunning. */
const explainNoCardChange = ({ paymentMethodType }: DecisionFacts) =>
  findBankDebit(paymentMethodType)
    ? "A later retry will not succeed either. After such a return Dunlin does not ask for another payment method: the merchant decides whether to ask for a new mandate."
    : "A later retry will not succeed either. After such a decline Dunlin does not ask for another card: the merchant decides whether to ask.";

/** Returns the scheme's rule if a return code forbids another presentation. */
export const findDebitEndRule = ({ facts, guard, decline }: DecisionContext): Ruling | null =>
  decline && endsRetries(decline.group) && findBankDebit(facts.paymentMethodType) ? guard.triesLeft : null;

function decideBudgetUsed(context: DecisionContext, said: string): Decision {
  const { facts } = context;
  if (hasOutstandingRetry(facts))
    return {
      kind: "wait",
      reasons: ["The last retry was requested, and its outcome is not known yet.", describeBudget(facts)],
    };
  if (facts.cardChange === "awaited")
    return { kind: "wait", reasons: [said, describeBudget(facts), describeAwaitedCard(context)] };
  return { kind: "stop", end: "budget_used", reasons: [said, "All retries of this invoice's budget are used."] };
}

/** Otherwise both could be paid. Most pending attempts are debits, which take days, or wait for the customer. */
const describePending = ({ at, until }: NonNullable<DecisionFacts["pending"]>, { locale }: DecisionContext) =>
  `An attempt was made on ${formatZonedTime(locale.zone, at.getTime())} and may still succeed, so Dunlin waits for its outcome, until ${formatZonedTime(locale.zone, until.getTime())}.`;

const hasOutstandingRetry = (known: DecisionFacts) => known.retries.some(({ status }) => status === "SENT");
