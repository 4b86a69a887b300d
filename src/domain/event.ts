import type { ActionSuggestion } from "./recovery-action.ts";

export const EVENT_TYPES = ["recovery_action", "pause_collection", "complete_dunning"] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** How many failed attempts exhaust an event, in one round: the numbers of the interface, "Events". */
export const maxAttempts = (type: EventType) => (type === "recovery_action" ? 6 : 7);

/** An instruction to the merchant. Immutable: every attempt sends the same `body`, byte for byte. */
export interface Event {
  /** UUIDv7; of a `recovery_action` it is the action's id. */
  id: string;
  caseId: string;
  invoiceId: string;
  type: EventType;
  /** The JSON text that is posted. */
  body: string;
  createdAt: Date;
}

export interface RecoveryActionData {
  invoiceId: string;
  subscriptionId: string | null;
  actionSuggestion: ActionSuggestion;
  idealRetryTime: Date;
}

/**
 * The body of a webhook: the envelope `{id, type, created, data}`.
 *
 * @param data  the fields of a recovery action, or only `invoiceId` for the other two types
 */
export function buildEnvelope(
  id: string,
  type: EventType,
  created: Date,
  data: RecoveryActionData | { invoiceId: string },
) {
  return JSON.stringify({
    id,
    type,
    created: created.toISOString(),
    data: "actionSuggestion" in data ? actionFields(data) : { invoiceId: data.invoiceId },
  });
}

/** The other body of a `recovery_action`: the flat retry request, whose `requestId` is the event's id. */
export const buildFlatRetryRequest = (id: string, data: RecoveryActionData) =>
  JSON.stringify({ requestId: id, ...actionFields(data) });

/** No invoice of any billing system: whoever takes a test event for a real one finds nothing to act on. */
const TEST_INVOICE_ID = "dunlin-webhook-test";

/**
 * The body of a test event: the same shape, and `test: true`, which receivers that know nothing of it ignore like any
 * unknown field. No event is stored for it.
 *
 * @param flat  the flat retry request in place of the envelope, for a `recovery_action`
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
      : buildEnvelope(id, type, created, isAction ? data : { invoiceId: TEST_INVOICE_ID });
  return JSON.stringify({ ...JSON.parse(body), test: true });
}

const actionFields = (data: RecoveryActionData) => ({
  invoiceId: data.invoiceId,
  ...(data.subscriptionId === null ? {} : { subscriptionId: data.subscriptionId }),
  actionSuggestion: `ACTION_SUGGESTION_${data.actionSuggestion}`,
  idealRetryTime: data.idealRetryTime.toISOString(),
});

/** Told after the commit which events were withdrawn, so that a sender that has read them already drops them. */
export type OnWithdrawn = (merchantId: string, eventIds: readonly string[]) => void;
