import type { DueDelivery } from "../tables/deliveries.ts";
import { endSpan, type Span, startClientSpan } from "../tracing/tracing.ts";
import { redactSecrets } from "./https/credential.ts";
import { isSuccess, type Reply } from "./https/exchange.ts";

/** @param url  of the endpoint; its path depends on the event */
export function startAttemptSpan(
  merchantId: string,
  url: { origin: string; path: string },
  { type, eventId, caseId, traceparent }: DueDelivery,
  number: number,
): Span {
  const span = startClientSpan("POST", traceparent, {
    "http.request.method": "POST",
    "dunlin.merchant.id": merchantId,
    "dunlin.case.id": caseId,
    "dunlin.event.id": eventId,
    "dunlin.event.type": type,
    "dunlin.delivery.attempt": number,
  });
  if (!span.isRecording()) return span;
  const { hostname, port, pathname } = new URL(url.path, url.origin);
  span.setAttributes({
    "server.address": hostname,
    "server.port": port === "" ? 443 : Number(port),
    // Without the query, which may hold a secret.
    "url.full": url.origin + pathname,
  });
  if (number > 1) span.setAttribute("http.request.resend_count", number - 1);
  if (type === "recovery_action") span.setAttribute("dunlin.action.id", eventId);
  return span;
}

/** @param secrets  redacted in the error */
export function endAttemptSpan(span: Span, reply: Reply, secrets: string[]) {
  if (reply.outcome === "failed") {
    span.setAttribute("error.type", "not_answered");
    return endSpan(span, redactSecrets(reply.error, secrets));
  }
  span.setAttribute("http.response.status_code", reply.status);
  if (isSuccess(reply.status)) return endSpan(span, null);
  span.setAttribute("error.type", String(reply.status));
  endSpan(span, `answered with ${reply.status}`);
}
