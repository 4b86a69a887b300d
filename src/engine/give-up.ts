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

export function giveUp(context: DecisionContext): Decision | null {
  const { facts, now, guard, decline, isNewCard } = context;
  const declineText = describeDecline(decline, isNewCard);
  if (facts.pending && now < facts.pending.until.getTime())
    return {
      kind: "wait",
      until: facts.pending.until,
      reasons: [declineText, describePending(facts.pending, context)],
    };
  const block = findBlockUntilEnd(guard, facts);
  if (isFinalDecline(decline)) {
    const rule = block?.onThisInvoice && isSameDecline(block.decline, decline!) ? [block.sentence] : [];
    return { kind: "stop", end: "hopeless", reasons: [declineText, ...rule, explainNoCardChange(facts)] };
  }
  if (block?.onThisInvoice && isFinalDecline(block.decline))
    return {
      kind: "stop",
      end: "hopeless",
      reasons: [describeBlock(block), block.sentence, explainNoCardChange(facts)],
    };
  if (facts.budgetLeft <= 0) return decideBudgetUsed(context, declineText);
  const isRetryPointless = decline !== null && endsRetries(decline.group);
  const fullLimit = guard.usedUp ? null : findFullLimit(guard, [now, facts.windowEndsAt.getTime()]);
  const usedUp = guard.usedUp ?? fullLimit;
  if (!isRetryPointless && !block && !usedUp) return null;
  if (!isRetryPointless && !block && hasOutstandingRetry(facts))
    return {
      kind: "wait",
      reasons: ["The last allowed retry was requested, and its outcome is not known yet.", usedUp!.sentence],
    };

  const isTried = isRetryPointless && decline.renewsItself && !block;
  // After the request, the current card is retried too, except for the budget's last retry while a new card may come.
  const isKept = facts.cardChange === "awaited" && facts.budgetLeft === 1;
  if (isTried && facts.cardChange !== null && !isKept) return null;

  // Without a decline, a dispute needs no sentence about a failure.
  const reasons = block?.isDispute && !decline ? [] : [declineText];
  if (block && !(block.onThisInvoice && decline && isSameDecline(block.decline, decline)))
    reasons.push(describeBlock(block));
  const ruling = block ?? usedUp ?? findDebitEndRule(context);
  if (ruling) reasons.push(ruling.sentence);
  const waits = describeCardWait(context);
  if (waits) return { kind: "wait", reasons: [...reasons, waits] };
  const requestText = !ruling && canConfirm(context) ? CONFIRM_PHRASE : "for another card or payment method";
  const reason = block
    ? BLOCKED_REASON
    : fullLimit
      ? LIMIT_FULL_REASON
      : usedUp
        ? USED_UP_REASON
        : ruling
          ? DEBIT_ENDED_REASON
          : POINTLESS_REASON;
  reasons.push(
    isTried
      ? "The customer is asked for another card or payment method now. Banks sometimes renew such cards without telling the merchant, so Dunlin may retry the current card too."
      : `${reason}, so the customer is asked ${requestText} now.`,
  );
  return { kind: "card_change", at: new Date(now), reasons };
}

const BLOCKED_REASON = "By this rule the same card or account is not charged again";
const USED_UP_REASON = "By this rule no retry is left";
const LIMIT_FULL_REASON = "By this rule no retry is allowed before the recovery window ends";
/** For a debit's return code. */
const DEBIT_ENDED_REASON = "After such a decline this rule allows no retry";
const POINTLESS_REASON = "Charging the same card or account again would not help";

const findBlockUntilEnd = ({ block, liftedBlock }: Guard, { windowEndsAt }: DecisionFacts) =>
  block ?? (liftedBlock && liftedBlock.at >= windowEndsAt.getTime() ? liftedBlock : null);

/** Another invoice's decline may have been on a substitute or unnamed card, and counts all the same. */
const describeBlock = ({ decline, onThisInvoice, isDispute }: NonNullable<Guard["block"]>) =>
  isDispute
    ? `The customer disputed ${onThisInvoice ? "a payment of this invoice" : "a payment of another invoice, made with the same card or account"}.`
    : onThisInvoice
      ? describeFailure("An earlier attempt", decline)
      : `${describeFailure("An attempt on another invoice", decline)} This decline counts for this card too.`;

const isSameDecline = (a: InterpretedDecline, b: InterpretedDecline) =>
  describeFailure("It", a) === describeFailure("It", b);

/** Neither time nor a new card can help. */
const isFinalDecline = (read: InterpretedDecline | null) => read?.group === "REVOKED" || read?.group === "FRAUD";

/** Contacting the customer is not a matter of dunning. */
const explainNoCardChange = ({ paymentMethodType }: DecisionFacts) =>
  findBankDebit(paymentMethodType)
    ? "A later retry will not succeed either. After such a return Dunlin does not ask for another payment method: the merchant decides whether to ask for a new mandate."
    : "A later retry will not succeed either. After such a decline Dunlin does not ask for another card: the merchant decides whether to ask.";

/** Null unless a return code forbids another presentation. */
export const findDebitEndRule = ({ facts, guard, decline }: DecisionContext): Ruling | null =>
  decline && endsRetries(decline.group) && findBankDebit(facts.paymentMethodType) ? guard.attemptsLeft : null;

function decideBudgetUsed(context: DecisionContext, declineText: string): Decision {
  const { facts } = context;
  if (hasOutstandingRetry(facts))
    return {
      kind: "wait",
      reasons: ["The last retry was requested, and its outcome is not known yet.", describeBudget(facts)],
    };
  if (facts.cardChange === "awaited")
    return { kind: "wait", reasons: [declineText, describeBudget(facts), describeAwaitedCard(context)] };
  return { kind: "stop", end: "budget_used", reasons: [declineText, "All retries of this invoice's budget are used."] };
}

/** Otherwise both could be paid. Most are debits, which take days, or wait for the customer. */
const describePending = ({ at, until }: NonNullable<DecisionFacts["pending"]>, { locale }: DecisionContext) =>
  `An attempt was made on ${formatZonedTime(locale.zone, at.getTime())} and may still succeed, so Dunlin waits for its outcome, until ${formatZonedTime(locale.zone, until.getTime())}.`;

const hasOutstandingRetry = (facts: DecisionFacts) => facts.retries.some(({ status }) => status === "SENT");
