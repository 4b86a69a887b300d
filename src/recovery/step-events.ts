import { buildEnvelope, buildFlatRetryRequest, type Event } from "../domain/event.ts";
import type { RecoveryAction } from "../domain/recovery-action.ts";
import type { LoadedCase } from "./loaded-case.ts";

export function buildCaseEvent(
  { case: recoveryCase, invoice }: LoadedCase,
  type: "pause_collection" | "complete_dunning",
  now: Date,
  id: string,
): Event {
  const invoiceId = invoice.id;
  return {
    id,
    caseId: recoveryCase.id,
    invoiceId,
    type,
    body: buildEnvelope(id, type, now, { invoiceId }),
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
