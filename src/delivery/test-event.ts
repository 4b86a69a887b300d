import { buildTestBody, type EventType } from "../domain/event.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { SecretKeys } from "../tables/secret-box.ts";
import { startTrace, type TraceResult } from "./https/attempt-trace.ts";
import { maskAuthorization, redactSecrets } from "./https/credential.ts";
import { type Diagnosis, diagnose } from "./https/diagnosis.ts";
import { createSender, type SenderOptions } from "./https/https-sender.ts";
import { createTarget } from "./send-attempt.ts";

/** One attempt with a test event, and everything that was seen of it, secrets masked. */
export interface TestedEvent extends Diagnosis, TraceResult {
  url: string;
  eventId: string;
  totalMs: number;
}

/** Sends a test event of a type to a merchant's endpoint. Nothing is stored of it. Null when there is no endpoint. */
export type SendTestEvent = (merchant: Merchant, type: EventType) => Promise<TestedEvent | null>;

/** @param network  how attempts reach endpoints */
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
      const seen = trace.seen();
      const masked = (shown: string) => redactSecrets(shown, secrets);
      // A credential of three signs is no secret that is looked for in texts.
      const sent =
        authorization === null ? seen.sent : seen.sent.replace(authorization, maskAuthorization(authorization));
      const diagnosis = diagnose(reply, seen, totalMs, ports.realNow());
      return {
        url: origin + paths[type],
        eventId,
        ...diagnosis,
        problem: diagnosis.problem === null ? null : masked(diagnosis.problem),
        totalMs,
        ...seen,
        // Sent and received alike: an endpoint may give back what it was given.
        sent: masked(sent),
        head: masked(seen.head),
        body: masked(seen.body),
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

/** How long each step took by itself, those that were not reached left out. */
export function timingsText(tested: TestedEvent): string {
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

/** The text without anything that could move a terminal's cursor or turn the reading order around. */
export const withoutControlCharacters = (shown: string) =>
  shown
    .split(/\r?\n/)
    .map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, "·"))
    .join("\n");
