import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";

export type { Attributes, Span } from "@opentelemetry/api";

// Without an SDK no span is recorded: decision record 60.
const startSpan = (name: string, options: SpanOptions, parent: Context): Span =>
  trace.getTracer("dunlin").startSpan(name, options, parent);

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Continues the caller's trace, or an instrumentation's span of the same request. */
export function startServerSpan(
  name: string,
  headers: Readonly<Record<string, unknown>>,
  attributes: Attributes,
): Span {
  const active = context.active();
  const isInstrumented = trace.getSpanContext(active) !== undefined;
  const parent = isInstrumented ? active : propagation.extract(active, headers);
  return startSpan(name, { kind: isInstrumented ? SpanKind.INTERNAL : SpanKind.SERVER, attributes }, parent);
}

/** @param traceparents  of the causes, oldest first: the last one is the parent, and the others are linked */
export function startStepSpan(name: string, traceparents: readonly string[], attributes: Attributes): Span {
  const links = traceparents.slice(0, -1).flatMap((each) => {
    const spanContext = trace.getSpanContext(parseTraceparent(each));
    return spanContext ? [{ context: spanContext }] : [];
  });
  return startSpan(name, { attributes, links }, parseTraceparent(traceparents.at(-1) ?? null));
}

export const startClientSpan = (name: string, traceparent: string | null, attributes: Attributes): Span =>
  startSpan(name, { kind: SpanKind.CLIENT, attributes }, parseTraceparent(traceparent));

/** @param error  without secrets; null: none */
export function endSpan(span: Span, error: string | null) {
  if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
  span.end();
}

/** The header for a receiver; null if the span belongs to no trace. */
export function traceparentHeader(span: Span): string | null {
  const { traceId, spanId, traceFlags } = span.spanContext();
  if (!isSpanContextValid(span.spanContext())) return null;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

const isSampled = (span: Span) => (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;

/** For later spans, kept in a row; null unless the span is sampled. */
export const storedTraceparent = (span: Span): string | null => (isSampled(span) ? traceparentHeader(span) : null);

/** For log lines; null unless the span is sampled. */
export const sampledTraceId = (span: Span): string | null => (isSampled(span) ? span.spanContext().traceId : null);

function parseTraceparent(traceparent: string | null): Context {
  const [, traceId, spanId, flags] = (traceparent !== null && TRACEPARENT.exec(traceparent)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
  });
}
