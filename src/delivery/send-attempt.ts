import type { Logger as Log } from "pino";
import type { EventType } from "../domain/event.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { DueDelivery } from "../tables/deliveries.ts";
import type { EndedAttempt } from "../tables/delivery-attempts.ts";
import { createRequestHead, type RequestHead } from "../tables/request-heads.ts";
import { type SecretKeys, unseal } from "../tables/secret-box.ts";
import { traceparentHeader } from "../tracing/tracing.ts";
import { nextAttemptDueAt, parseRetryAfterMs } from "./attempt-schedule.ts";
import { endAttemptSpan, startAttemptSpan } from "./attempt-span.ts";
import { authorizationHeader, credentialSpellings, redactSecrets } from "./https/credential.ts";
import { emptyTimings, isSuccess, type Reply } from "./https/exchange.ts";
import type { Send } from "./https/https-sender.ts";
import { maskedHeaders } from "./https/request-head.ts";
import { createSigner, type Sign } from "./https/signature.ts";

/** A merchant's parsed endpoint. */
export interface DeliveryTarget {
  origin: string;
  paths: Record<EventType, string>;
  authorization: string | null;
  /** Null without a signing secret. */
  sign: Sign | null;
  /** Redacted in the log. */
  secrets: string[];
  /** Logged parts of requests. */
  heads: Record<EventType, RequestHead>;
}

/**
 * Null if there is no endpoint.
 *
 * @throws UnreadableSecret if no key opens the stored credential or signing secret
 */
export function createTarget(merchant: Merchant, secretKeys: SecretKeys): DeliveryTarget | null {
  if (merchant.webhookUrl === null || !URL.canParse(merchant.webhookUrl)) return null;
  const url = new URL(merchant.webhookUrl);
  if (url.protocol !== "https:") return null;
  const path = (type: EventType) =>
    merchant.webhookSubPaths ? `${url.pathname.replace(/\/$/, "")}/${type}${url.search}` : url.pathname + url.search;
  const { webhookAuth, webhookCredential } = merchant;
  const secret = webhookCredential === null ? null : unseal(secretKeys, webhookCredential);
  const authorization = webhookAuth === null || secret === null ? null : authorizationHeader(webhookAuth, secret);
  const sign = createMerchantSigner(merchant, secretKeys);
  const headers = maskedHeaders(authorization, sign !== null);
  const head = (type: EventType) =>
    createRequestHead(merchant.id, [`POST ${url.origin}${path(type)}`, ...headers].join("\n"));
  return {
    origin: url.origin,
    paths: forEachEventType(path),
    authorization,
    sign,
    heads: forEachEventType(head),
    secrets: webhookAuth === null || secret === null ? [] : credentialSpellings(webhookAuth, secret),
  };
}

const forEachEventType = <Value>(make: (type: EventType) => Value): Record<EventType, Value> => ({
  recovery_action: make("recovery_action"),
  pause_collection: make("pause_collection"),
  complete_dunning: make("complete_dunning"),
  recovery_ended: make("recovery_ended"),
});

function createMerchantSigner(
  { webhookSecret, webhookOldSecret, webhookOldSecretUntil }: Merchant,
  secretKeys: SecretKeys,
) {
  if (webhookSecret === null) return null;
  const previousSecret =
    webhookOldSecret === null || webhookOldSecretUntil === null
      ? null
      : { secret: unseal(secretKeys, webhookOldSecret), until: webhookOldSecretUntil };
  return createSigner({ current: unseal(secretKeys, webhookSecret), old: previousSecret });
}

/** This process is out of a resource. */
export interface UnsentAttempt {
  unsent: string;
}

/** An attempt that was cut short is repeated under its number. */
export async function sendAttempt(
  merchant: Merchant,
  target: DeliveryTarget,
  delivery: DueDelivery,
  epoch: number,
  send: Send,
  ports: Ports,
): Promise<EndedAttempt | UnsentAttempt> {
  const startedAt = ports.now();
  const startedMs = ports.monotonicMs();
  const timings = emptyTimings();
  const number = delivery.attempts + 1;
  const path = target.paths[delivery.type];
  const span = startAttemptSpan(merchant.id, { origin: target.origin, path }, delivery, number);
  let reply: Reply;
  try {
    reply = await send({
      origin: target.origin,
      path,
      authorization: target.authorization,
      body: delivery.body,
      timings,
      traceparent: traceparentHeader(span),
      signature: target.sign === null ? null : target.sign(delivery.eventId, delivery.body, ports.realNow(), startedAt),
    });
  } catch (error) {
    reply = { outcome: "failed", error: `not sent: ${error}` };
  }
  endAttemptSpan(span, reply, target.secrets);
  if (reply.outcome === "failed" && reply.isLocalFailure) return { unsent: reply.error };
  // The clock may have been set back meanwhile.
  const endedAt = new Date(Math.max(startedAt.getTime(), ports.now().getTime()));
  const success = reply.outcome === "response" && isSuccess(reply.status);
  const ends = success ? "delivered" : number >= delivery.attemptsMax ? "exhausted" : null;
  const retryAfterMs =
    reply.outcome === "response" && reply.retryAfter !== null
      ? parseRetryAfterMs(reply.retryAfter, ports.realNow())
      : 0;
  return {
    merchantId: merchant.id,
    eventId: delivery.eventId,
    caseId: delivery.type === "recovery_action" ? delivery.caseId : null,
    bucket: merchant.bucket,
    epoch,
    round: delivery.round,
    number,
    dueAt: ends === null ? nextAttemptDueAt(number, endedAt, retryAfterMs) : null,
    startedAt,
    endedAt,
    durationMs: Math.round(ports.monotonicMs() - startedMs),
    success,
    ends,
    status: reply.outcome === "response" ? reply.status : null,
    error: reply.outcome === "failed" ? redactSecrets(reply.error, target.secrets) : null,
    response: reply.outcome === "response" && reply.text !== null ? redactSecrets(reply.text, target.secrets) : null,
    headId: target.heads[delivery.type].id,
    lookUpMs: roundMs(timings.lookUpMs),
    connectMs: roundMs(timings.connectMs),
    tlsMs: roundMs(timings.tlsMs),
    firstByteMs: roundMs(timings.firstByteMs),
  };
}

const roundMs = (ms: number | null) => (ms === null ? null : Math.round(ms));

export interface AttemptFigures {
  /** 1 to 7. */
  number: number;
  success: boolean;
  status: number | null;
  durationMs: number;
  /** Start minus due time, in service time. */
  latenessMs: number;
}

export const attemptFiguresOf = ({ number, success, status, durationMs }: EndedAttempt) => ({
  number,
  success,
  status,
  durationMs,
});

export function logAttempt(log: Log, attempt: EndedAttempt) {
  const { merchantId, eventId, number, status, durationMs, error } = attempt;
  const fields = { merchantId, eventId, number, status, durationMs };
  if (attempt.ends === "exhausted") log.warn({ ...fields, error }, "delivery.exhausted");
  else if (attempt.success) log.debug(fields, "delivery.attempted");
  else log.info({ ...fields, error }, "delivery.attempted");
}
