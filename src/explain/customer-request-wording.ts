import type { DecisionKind, DecisionRecord } from "../domain/decision.ts";
import { CONFIRM_PHRASE, RENEWAL_PHRASE } from "../engine/reasons.ts";

const isConfirmationRequested = (reasons: readonly string[]) =>
  reasons.some((reason) => reason.includes(CONFIRM_PHRASE));

/** What a customer was asked for, by the reasons for it; begins a sentence. */
export const describeRequest = (reasons: readonly string[]) =>
  isConfirmationRequested(reasons)
    ? "A confirmation of the payment, or another card or payment method,"
    : "Another card or payment method";

/** The same as what is to be done; begins a sentence. */
export const describeRequestedChange = (reasons: readonly string[]) =>
  isConfirmationRequested(reasons)
    ? "A confirmation of the payment, or a change of the card or payment method,"
    : "A change of the card or payment method";

/** The same, completes "the customer is asked …". */
export const describeRequestedAction = (reasons: readonly string[]) =>
  isConfirmationRequested(reasons) ? CONFIRM_PHRASE : "for another card or payment method";

const SHADOW_ACTION_WORDING: Readonly<Record<DecisionKind, string>> = {
  retry: "request a retry",
  card_change: "ask for another card or payment method",
  stop: "give up on the invoice",
  wait: "wait",
};

/** Whether the customer would be asked in shadow mode: for what comes first, or beside a retry of a card that banks may renew. */
export const wouldAskCustomer = ({ kind, account: { reasons } }: DecisionRecord) =>
  kind === "card_change" || (kind === "retry" && reasons.some((reason) => reason.includes(RENEWAL_PHRASE)));

/**
 * What Dunlin would do in shadow mode: completes "Dunlin would …"; a retry has a moment, which is to follow.
 *
 * @param firstAsk  the case's first decision by which the customer would be asked: beside a retry that is told once
 */
export function describeShadowAction(decision: DecisionRecord, firstAsk: DecisionRecord | undefined): string {
  const { kind, account } = decision;
  if (kind === "card_change" && isConfirmationRequested(account.reasons)) return `ask the customer ${CONFIRM_PHRASE}`;
  return kind === "retry" && decision === firstAsk
    ? `${SHADOW_ACTION_WORDING.card_change}, and request a retry`
    : SHADOW_ACTION_WORDING[kind];
}
