import type { EndReason } from "../domain/case.ts";
import { buildEnvelope, buildFlatRetryRequest, type Event, type EventType } from "../domain/event.ts";
import type { RecoveryAction } from "../domain/recovery-action.ts";
import type { LoadedCase } from "./loaded-case.ts";

/** @param endReason  of a `recovery_ended` */
export function buildCaseEvent(
  { case: recoveryCase, invoice }: LoadedCase,
  type: Exclude<EventType, "recovery_action">,
  now: Date,
  id: string,
  endReason?: EndReason,
): Event {
  const invoiceId = invoice.id;
  return {
    id,
    caseId: recoveryCase.id,
    invoiceId,
    type,
    body: buildEnvelope(id, type, now, { invoiceId, endReason }),
    createdAt: now,
  };
}

/** The event has the action's id. */
export function buildActionEvent({ merchant }: LoadedCase, action: RecoveryAction, now: Date): Event {
  const { id, caseId, invoiceId } = action;
  const body = merchant.webhookFlat
    ? buildFlatRetryRequest(id, action)
    : buildEnvelope(id, "recovery_action", now, action);
  return { id, caseId, invoiceId, type: "recovery_action", body, createdAt: now };
}
