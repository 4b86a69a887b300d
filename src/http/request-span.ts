import type { FastifyRequest } from "fastify";
import type { Caller } from "../auth/keyring.ts";
import { endSpan, sampledTraceId, startServerSpan, storedTraceparent } from "../tracing/tracing.ts";

/** After authentication, so that an unauthenticated caller makes no spans. Adds the trace to the request's log lines. */
export function startRequestSpan(request: FastifyRequest, { merchant }: Caller) {
  const route = routeOf(request);
  const span = startServerSpan(`${request.method} ${route}`, request.headers, {
    "http.request.method": request.method,
    "http.route": route,
    // Not the path itself, because it is the caller's text.
    "url.path": route,
    "url.scheme": "https",
    "dunlin.merchant.id": merchant.id,
    "dunlin.request.id": request.id,
  });
  request.span = span;
  const traceId = sampledTraceId(span);
  if (traceId !== null) request.log = request.log.child({ traceId });
}

/** Kept with what the request changes; null unless its trace is sampled. */
export const requestTraceparent = ({ span }: FastifyRequest) => span && storedTraceparent(span);

/** A pattern such as "/v1/recovery_actions", or "unknown"; never the path. */
export function routeOf({ routeOptions: { url, config } }: FastifyRequest): string {
  return (config as { path?: string }).path ?? url ?? "unknown";
}

export function endRequestSpan({ span, records, stored, errorMessage }: FastifyRequest, status: number) {
  if (!span) return;
  if (span.isRecording()) {
    span.setAttribute("http.response.status_code", status);
    if (records !== null) span.setAttribute("dunlin.records", records);
    if (stored !== null) span.setAttribute("dunlin.stored", stored);
    if (status >= 500) span.setAttribute("error.type", String(status));
  }
  // A refusal is the caller's error, not the server's.
  endSpan(span, status >= 500 ? (errorMessage ?? "") : null);
}
