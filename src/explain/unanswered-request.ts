import { isApproved } from "../domain/transaction.ts";
import type { Zone } from "../engine/local-time.ts";
import { describeRequest } from "./customer-request-wording.ts";
import { formatTime } from "./explain-retry-time.ts";
import type { ExplainedCase } from "./load-explained-case.ts";
import { NOTHING_DUE } from "./story.ts";

/**
 * Says when the customer of a lost invoice was asked for another card, and that no answer or no payment came.
 *
 * @returns null if the customer was not asked, or nothing was lost
 */
export function describeUnansweredRequest(explained: ExplainedCase, zone: Zone): string | null {
  const { case: recoveryCase, actions, transactions } = explained;
  const endReason = recoveryCase?.endReason ?? null;
  if (endReason === null || endReason === "paid" || NOTHING_DUE.has(endReason)) return null;
  const request = actions.findLast(({ type, decidedAt }) => type === "CARD_CHANGE" && decidedAt !== null);
  if (!request || request.status === "SUCCEEDED" || request.status === "CANCELED") return null;
  const asked = `${describeRequest(request.reasons)} was requested on ${formatTime(zone, request.decidedAt!)}`;
  if (request.status === "DELIVERY_FAILED") return `${asked}, but the merchant's endpoint did not accept the request.`;
  if (request.status === "SCHEDULED") return null;
  const since = transactions.filter(({ createdAt }) => createdAt > request.decidedAt!);
  if (since.some(isApproved)) return null;
  const formerCard = transactions.findLast(({ createdAt }) => createdAt <= request.decidedAt!)?.cardFingerprint;
  const isAnswer = (t: (typeof transactions)[number]) =>
    t.initiator === "CUSTOMER" || (t.cardFingerprint !== undefined && t.cardFingerprint !== formerCard);
  return `${asked}, and ${since.some(isAnswer) ? "no payment followed" : "no answer came"}.`;
}
