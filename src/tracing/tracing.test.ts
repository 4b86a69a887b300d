import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { AlwaysOffSampler } from "@opentelemetry/sdk-trace";
import { startTracerSdk } from "./tracer-sdk.fixture.ts";
import {
  endSpan,
  sampledTraceId,
  startClientSpan,
  startServerSpan,
  startStepSpan,
  storedTraceparent,
  traceparentHeader,
} from "./tracing.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const OTHER_TRACE = "0af7651916cd43dd8448eb211c80319c";
const traceparent = (traceId: string, spanId: string, flags = "01") => `00-${traceId}-${spanId}-${flags}`;
const FIRST = traceparent(OTHER_TRACE, "00f067aa0ba902b7");
const LAST = traceparent(TRACE, "b7ad6b7169203331");

let sdk: ReturnType<typeof startTracerSdk> | undefined;
afterEach(async () => {
  await sdk?.stop();
  sdk = undefined;
});

test("nothing is recorded, stored or sent without an SDK", () => {
  const span = startServerSpan("POST /ingest/v1/invoices", { traceparent: LAST }, {});
  assert.equal(span.isRecording(), false);
  assert.deepEqual([storedTraceparent(span), traceparentHeader(span), sampledTraceId(span)], [null, null, null]);
  endSpan(span, "failed");
});

test("a stored context is passed on by a process without an SDK", () => {
  const step = startStepSpan("decide case", [FIRST, LAST], {});
  assert.equal(storedTraceparent(step), LAST);
  assert.equal(traceparentHeader(startClientSpan("POST", storedTraceparent(step), {})), LAST);
});

test("a request continues the trace of its caller, and a caller's baggage goes nowhere", () => {
  sdk = startTracerSdk();
  const span = startServerSpan("POST /x", { traceparent: LAST, baggage: "card=4242" }, { "http.route": "/x" });
  endSpan(span, null);
  const [ended] = sdk.spans();
  assert.deepEqual(
    [ended!.spanContext().traceId, ended!.parentSpanContext?.spanId, ended!.kind, ended!.status.code],
    [TRACE, "b7ad6b7169203331", SpanKind.SERVER, SpanStatusCode.UNSET],
  );
  assert.deepEqual(ended!.attributes, { "http.route": "/x" });
  assert.equal(storedTraceparent(span), traceparent(TRACE, span.spanContext().spanId));
  assert.equal(sampledTraceId(span), TRACE);
});

test("a request is a span within the one of an HTTP instrumentation", () => {
  sdk = startTracerSdk();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  try {
    const outer = trace.getTracer("http").startSpan("POST");
    const span = context.with(trace.setSpan(context.active(), outer), () =>
      startServerSpan("POST /x", { traceparent: LAST }, {}),
    );
    endSpan(span, null);
    assert.equal(sdk.spans()[0]!.parentSpanContext?.spanId, outer.spanContext().spanId);
    assert.equal(sdk.spans()[0]!.kind, SpanKind.INTERNAL);
  } finally {
    context.disable();
  }
});

test("an unsampled span is not stored, and the receiver is told that it is not sampled", () => {
  sdk = startTracerSdk(new AlwaysOffSampler());
  const unsampled = startServerSpan("POST /x", { traceparent: traceparent(TRACE, "b7ad6b7169203331", "00") }, {});
  const root = startClientSpan("POST", null, {});
  for (const span of [unsampled, root]) {
    assert.deepEqual([storedTraceparent(span), sampledTraceId(span)], [null, null]);
    assert.match(traceparentHeader(span)!, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    endSpan(span, null);
  }
  assert.equal(unsampled.spanContext().traceId, TRACE);
  assert.deepEqual(sdk.spans(), []);
});

test("a step continues the latest of its causes, and links the others", () => {
  sdk = startTracerSdk();
  endSpan(startStepSpan("decide case", [FIRST, LAST], {}), "Error");
  endSpan(startStepSpan("decide case", [], {}), null);
  const [step, root] = sdk.spans();
  assert.deepEqual(
    [step!.spanContext().traceId, step!.parentSpanContext?.spanId, step!.status],
    [TRACE, "b7ad6b7169203331", { code: SpanStatusCode.ERROR, message: "Error" }],
  );
  assert.deepEqual(
    step!.links.map(({ context: { traceId, spanId } }) => [traceId, spanId]),
    [[OTHER_TRACE, "00f067aa0ba902b7"]],
  );
  assert.equal(root!.parentSpanContext, undefined);
});

test("a damaged context begins a new trace", () => {
  sdk = startTracerSdk();
  endSpan(startClientSpan("POST", "00-x-y-01", {}), null);
  assert.equal(sdk.spans()[0]!.parentSpanContext, undefined);
});
