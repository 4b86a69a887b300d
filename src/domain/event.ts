import type { EndReason } from "./case.ts";
import type { ActionSuggestion } from "./recovery-action.ts";

/** `recovery_ended` only for merchants that ask for it. */
export const EVENT_TYPES = ["recovery_action", "pause_collection", "complete_dunning", "recovery_ended"] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export const END_REASON_PREFIX = "END_REASON_";

/** Failed attempts that exhaust an event in one round. */
export const maxAttempts = (type: EventType) => (type === "recovery_action" ? 6 : 7);

/** Every attempt sends the same `body`. */
export interface Event {
  /** UUIDv7; a `recovery_action` has the action's id. */
  id: string;
  caseId: string;
  invoiceId: string;
  type: EventType;
  body: string;
  createdAt: Date;
  /** Of the step that made it, for its delivery; absent or null: not traced. */
  traceparent?: string | null;
}

export interface RecoveryActionData {
  invoiceId: string;
  subscriptionId: string | null;
  actionSuggestion: ActionSuggestion;
  idealRetryTime: Date;
}

export interface CaseEventData {
  invoiceId: string;
  /** Of a `recovery_ended`. */
  endReason?: EndReason | undefined;
}

/** `{id, type, created, data}` */
export function buildEnvelope(id: string, type: EventType, created: Date, data: RecoveryActionData | CaseEventData) {
  return JSON.stringify({
    id,
    type,
    created: created.toISOString(),
    data: "actionSuggestion" in data ? actionFields(data) : caseFields(data),
  });
}

/** The alternative body of a `recovery_action`. */
export const buildFlatRetryRequest = (id: string, data: RecoveryActionData) =>
  JSON.stringify({ requestId: id, ...actionFields(data) });

/** In no billing system, so a receiver that takes a test event for a real one does nothing. */
const TEST_INVOICE_ID = "dunlin-webhook-test";

/**
 * The usual shape with `test: true`, which receivers ignore.
 *
 * @param flat  whether a `recovery_action` is a flat retry request
 */
export function buildTestBody(id: string, type: EventType, created: Date, flat: boolean): string {
  const data: RecoveryActionData = {
    invoiceId: TEST_INVOICE_ID,
    subscriptionId: null,
    actionSuggestion: "UNSPECIFIED",
    idealRetryTime: created,
  };
  const isAction = type === "recovery_action";
  const body =
    isAction && flat
      ? buildFlatRetryRequest(id, data)
      : buildEnvelope(id, type, created, isAction ? data : exampleCaseEvent(type, TEST_INVOICE_ID));
  return JSON.stringify({ ...JSON.parse(body), test: true });
}

/** For an event that no case caused. */
export const exampleCaseEvent = (type: EventType, invoiceId: string): CaseEventData => ({
  invoiceId,
  endReason: type === "recovery_ended" ? "window_over" : undefined,
});

const caseFields = ({ invoiceId, endReason }: CaseEventData) => ({
  invoiceId,
  ...(endReason && { endReason: END_REASON_PREFIX + endReason.toUpperCase() }),
});

const actionFields = (data: RecoveryActionData) => ({
  invoiceId: data.invoiceId,
  ...(data.subscriptionId === null ? {} : { subscriptionId: data.subscriptionId }),
  actionSuggestion: `ACTION_SUGGESTION_${data.actionSuggestion}`,
  idealRetryTime: data.idealRetryTime.toISOString(),
});

/** Call it after the commit, so that a sender drops events that it has already read. */
export type OnWithdrawn = (merchantId: string, eventIds: readonly string[]) => void;
