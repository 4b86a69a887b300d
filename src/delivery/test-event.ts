import { buildTestBody, type EventType } from "../domain/event.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { SecretKeys } from "../tables/secret-box.ts";
import { startTrace, type TraceResult } from "./https/attempt-trace.ts";
import { maskAuthorization, redactSecrets } from "./https/credential.ts";
import { type Diagnosis, diagnose } from "./https/diagnosis.ts";
import { createSender, type SenderOptions } from "./https/https-sender.ts";
import { createTarget } from "./send-attempt.ts";

/** Traced, with masked secrets. */
export interface TestEventResult extends Diagnosis, TraceResult {
  url: string;
  eventId: string;
  totalMs: number;
}

/** Stores nothing. Null without an endpoint. */
export type SendTestEvent = (merchant: Merchant, type: EventType) => Promise<TestEventResult | null>;

export function createTestEventSender(
  network: Omit<SenderOptions, "monotonicMs">,
  secretKeys: SecretKeys,
  ports: Ports,
): SendTestEvent {
  const { monotonicMs } = ports;
  return async (merchant, type) => {
    const target = createTarget(merchant, secretKeys);
    if (!target) return null;
    const sender = createSender({ ...network, monotonicMs });
    try {
      const eventId = ports.newId();
      const body = buildTestBody(eventId, type, ports.now(), merchant.webhookFlat);
      const signature = target.sign?.(eventId, body, ports.realNow(), ports.now()) ?? null;
      const trace = startTrace(monotonicMs);
      const startedMs = monotonicMs();
      const { origin, paths, authorization, secrets } = target;
      const reply = await sender.send({ origin, path: paths[type], authorization, body, signature, trace });
      const totalMs = Math.round(monotonicMs() - startedMs);
      const seen = trace.result();
      const mask = (text: string) => redactSecrets(text, secrets);
      // `redactSecrets` skips very short credentials.
      const sent =
        authorization === null ? seen.sent : seen.sent.replace(authorization, maskAuthorization(authorization));
      const diagnosis = diagnose(reply, seen, totalMs, ports.realNow());
      return {
        url: origin + paths[type],
        eventId,
        ...diagnosis,
        problem: diagnosis.problem === null ? null : mask(diagnosis.problem),
        totalMs,
        ...seen,
        // An endpoint may echo the request.
        sent: mask(sent),
        head: mask(seen.head),
        body: mask(seen.body),
      };
    } finally {
      sender.close();
    }
  };
}

const TIMING_STEPS = [
  ["look-up", "lookUpMs"],
  ["connect", "connectMs"],
  ["TLS", "tlsMs"],
  ["first byte", "firstByteMs"],
  ["total", "totalMs"],
] as const;

/** Of each step that was reached. */
export function timingsText(tested: TestEventResult): string {
  let beforeMs = 0;
  const parts = TIMING_STEPS.flatMap(([name, field]) => {
    const atMs = tested[field];
    if (atMs === null) return [];
    const tookMs = field === "totalMs" ? atMs : atMs - beforeMs;
    beforeMs = atMs;
    return [`${name} ${tookMs.toFixed(field === "totalMs" ? 0 : 1)} ms`];
  });
  return parts.join(", ");
}

/** Some could move a terminal's cursor or reverse the reading order. */
export const withoutControlCharacters = (text: string) =>
  text
    .split(/\r?\n/)
    .map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, "·"))
    .join("\n");
