import type { Case } from "../domain/case.ts";
import { type Span, startStepSpan, storedTraceparent } from "../tracing/tracing.ts";
import type { Step } from "./step.ts";

/** Until the step is committed. */
export function startCaseSpan(merchantId: string, { id, invoiceId }: Case, traceparents: readonly string[]): Span {
  return startStepSpan("decide case", traceparents, {
    "dunlin.merchant.id": merchantId,
    "dunlin.invoice.id": invoiceId,
    "dunlin.case.id": id,
  });
}

/** Adds the result to the span, and the span's context to the events. */
export function traceStep(span: Span, step: Step): Step {
  if (!span.isRecording()) return withTraceparent(step, storedTraceparent(span));
  const { decision, events, inserted, updated, state, traits, endsNow } = step;
  const actionId = decision?.actionId ?? [...inserted, ...updated].at(-1)?.id;
  if (decision) span.setAttribute("dunlin.decision.kind", decision.kind);
  if (actionId !== undefined) span.setAttribute("dunlin.action.id", actionId);
  if (traits.declineGroup !== null) span.setAttribute("dunlin.decline.group", traits.declineGroup);
  if (events.length > 0)
    span.setAttribute(
      "dunlin.event.types",
      events.map(({ type }) => type),
    );
  if (endsNow && state.endReason !== null) span.setAttribute("dunlin.case.end_reason", state.endReason);
  return withTraceparent(step, storedTraceparent(span));
}

/** The deliveries of the step's events continue this span. */
export const withTraceparent = (step: Step, traceparent: string | null): Step =>
  traceparent === null ? step : { ...step, events: step.events.map((event) => ({ ...event, traceparent })) };
