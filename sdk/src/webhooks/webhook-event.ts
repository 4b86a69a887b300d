import type {
  CompleteDunningEvent,
  RecoveryActionEvent as Envelope,
  PauseCollectionEvent,
  RecoveryEndedEvent,
} from "./bodies.ts";

/** Dunlin's instruction, independent of the body's shape. */
export type WebhookEvent = RecoveryActionEvent | PauseCollectionEvent | CompleteDunningEvent | RecoveryEndedEvent;
/** Push its id as `recoveryActionId` of the transaction that carries it out. `created` is absent for a flat retry request. */
export type RecoveryActionEvent = Omit<Envelope, "created"> & Partial<Pick<Envelope, "created">>;
export type EndReason = RecoveryEndedEvent["data"]["endReason"];
export type ActionSuggestion = Envelope["data"]["actionSuggestion"];

/** The event, or a sentence that describes the problem. */
export type ParsedEvent = { event: WebhookEvent; problem?: never } | { event?: never; problem: string };

/** A record, so that the compiler reports a missing value. */
const SUGGESTIONS: Record<ActionSuggestion, true> = {
  ACTION_SUGGESTION_UNSPECIFIED: true,
  ACTION_SUGGESTION_RETRY: true,
  ACTION_SUGGESTION_CARD_CHANGE: true,
};
const ACTION_SUGGESTIONS = Object.keys(SUGGESTIONS) as ActionSuggestion[];
const EVENT_TYPES = ["recovery_action", "pause_collection", "complete_dunning", "recovery_ended"] as const;
type JsonFields = Record<string, unknown>;

/**
 * Parses a webhook's body: the envelope `{id, type, created, data}` or the flat retry request `{requestId, …}`.
 *
 * @param body  as received
 * @param path  if it ends in an event type, the event must have that type
 */
export function parseWebhookEvent(body: string, path = "/"): ParsedEvent {
  let fields: unknown;
  try {
    fields = JSON.parse(body);
  } catch {
    return { problem: "the body is not JSON" };
  }
  if (!isJsonFields(fields)) return { problem: "the body must be a JSON object" };
  const type = EVENT_TYPES.find((name) => path.endsWith(`/${name}`));
  const isFlat = fields.requestId !== undefined && fields.type === undefined;
  if (isFlat && type !== undefined && type !== "recovery_action")
    return { problem: `this path accepts ${type} events only` };
  const parsed = isFlat ? parseFlatRetryRequest(fields) : parseEnvelope(fields);
  if (parsed.event && type !== undefined && parsed.event.type !== type) {
    return { problem: `this path accepts ${type} events only` };
  }
  if (parsed.event && fields.test === true) parsed.event.test = true;
  return parsed;
}

function parseEnvelope(fields: JsonFields): ParsedEvent {
  const { id, created, data } = fields;
  const type = EVENT_TYPES.find((name) => name === fields.type);
  if (!isNonEmptyText(id)) return missingFieldProblem("id");
  if (!type) return { problem: `type must be one of ${EVENT_TYPES.join(", ")}` };
  if (!isTimestamp(created)) return notTimestampProblem("created");
  if (!isJsonFields(data)) return missingFieldProblem("data");
  if (type === "recovery_action") return parseRetry({ id, type, created }, data, "data.");
  if (!isNonEmptyText(data.invoiceId)) return missingFieldProblem("data.invoiceId");
  const { invoiceId } = data;
  if (type !== "recovery_ended") return { event: { id, type, created, data: { invoiceId } } };
  // A newer Dunlin may have further reasons.
  if (!isNonEmptyText(data.endReason)) return missingFieldProblem("data.endReason");
  return { event: { id, type, created, data: { invoiceId, endReason: data.endReason as EndReason } } };
}

function parseFlatRetryRequest(fields: JsonFields): ParsedEvent {
  if (!isNonEmptyText(fields.requestId)) return missingFieldProblem("requestId");
  return parseRetry({ id: fields.requestId, type: "recovery_action" }, fields, "");
}

function parseRetry(head: Omit<RecoveryActionEvent, "data">, fields: JsonFields, prefix: string): ParsedEvent {
  const { invoiceId, subscriptionId, idealRetryTime } = fields;
  const actionSuggestion = ACTION_SUGGESTIONS.find((name) => name === fields.actionSuggestion);
  if (!isNonEmptyText(invoiceId)) return missingFieldProblem(`${prefix}invoiceId`);
  if (subscriptionId !== undefined && !isNonEmptyText(subscriptionId))
    return missingFieldProblem(`${prefix}subscriptionId`);
  if (!actionSuggestion)
    return { problem: `${prefix}actionSuggestion must be one of ${ACTION_SUGGESTIONS.join(", ")}` };
  if (!isTimestamp(idealRetryTime)) return notTimestampProblem(`${prefix}idealRetryTime`);
  const subscription = subscriptionId === undefined ? {} : { subscriptionId };
  return { event: { ...head, data: { invoiceId, ...subscription, actionSuggestion, idealRetryTime } } };
}

const TIMESTAMP_PATTERN = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
const isTimestamp = (value: unknown): value is string =>
  typeof value === "string" && TIMESTAMP_PATTERN.test(value) && !Number.isNaN(Date.parse(value));
const isNonEmptyText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isJsonFields = (value: unknown): value is JsonFields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const missingFieldProblem = (field: string): ParsedEvent => ({ problem: `${field} must be a non-empty string` });
const notTimestampProblem = (field: string): ParsedEvent => ({ problem: `${field} must be an ISO 8601 date-time` });
