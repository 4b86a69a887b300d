import type { DecisionKind, DecisionRecord } from "../domain/decision.ts";
import { CONFIRM_PHRASE, isRetryOfRenewableCard } from "../engine/reasons.ts";

const isConfirmationRequested = (reasons: readonly string[]) =>
  reasons.some((reason) => reason.includes(CONFIRM_PHRASE));

/** Names the request to the customer, at the beginning of a sentence. */
export const describeRequest = (reasons: readonly string[]) =>
  isConfirmationRequested(reasons)
    ? "A confirmation of the payment, or another card or payment method,"
    : "Another card or payment method";

/** Names the requested change, at the beginning of a sentence. */
export const describeRequestedChange = (reasons: readonly string[]) =>
  isConfirmationRequested(reasons)
    ? "A confirmation of the payment, or a change of the card or payment method,"
    : "A change of the card or payment method";

/** Completes "the customer is asked …". */
export const describeRequestedAction = (reasons: readonly string[]) =>
  isConfirmationRequested(reasons) ? CONFIRM_PHRASE : "for another card or payment method";

const SHADOW_ACTION_WORDING: Readonly<Record<DecisionKind, string>> = {
  retry: "request a retry",
  card_change: "ask for another card or payment method",
  stop: "give up on the invoice",
  wait: "wait",
};

/**
 * Whether the customer would be asked in shadow mode: instead of a retry, or in addition to one of a card that banks may renew.
 */
export const wouldAskCustomer = ({ kind, account: { reasons } }: DecisionRecord) =>
  kind === "card_change" || (kind === "retry" && isRetryOfRenewableCard(reasons));

/**
 * Completes "Dunlin would …" for a decision in shadow mode. For a retry, its time follows.
 *
 * @param firstAsk  the first decision of the case that would ask the customer; later retries do not repeat it
 */
export function describeShadowAction(decision: DecisionRecord, firstAsk: DecisionRecord | undefined): string {
  const { kind, account } = decision;
  if (kind === "card_change" && isConfirmationRequested(account.reasons)) return `ask the customer ${CONFIRM_PHRASE}`;
  return kind === "retry" && decision === firstAsk
    ? `${SHADOW_ACTION_WORDING.card_change}, and request a retry`
    : SHADOW_ACTION_WORDING[kind];
}
