import { setTimeout as timer } from "node:timers/promises";
import { backoffDelayMs, isRetryable, retryAfterMs } from "./backoff.ts";
import { DunlinError } from "./dunlin-error.ts";
import { createRequestPacer } from "./request-pacer.ts";
import type { Transport, TransportAnswer, TransportRequest } from "./transport.ts";

export interface RequestOptions {
  /** Such as `https://localhost:8443`. The client switches to the next one when one fails or does not answer. */
  baseUrl: string | readonly string[];
  apiKey: string;
  /** How long a request is retried, as the sum of delays. Default: 5 minutes, longer than Dunlin takes to restart. */
  retryForMs?: number;
  /** Maximum attempts per request. By default, only the time counts. */
  triesMax?: number;
  /** Per attempt. Default: 30 s. */
  timeoutMs?: number;
  /** Maximum requests in flight. Default: 5, as Dunlin recommends. */
  inFlightMax?: number;
  /** Maximum requests started in any second. Default: 100, a key's usual limit. */
  requestsPerSecond?: number;
  /** Returns a random number between 0 and 1 to spread retries. */
  jitter?(): number;
  /** Waits, or rejects with the signal's reason. */
  sleep?(ms: number, signal?: AbortSignal): Promise<unknown>;
}

/** Retries while that may help, and returns a 2xx answer's JSON object. */
export type Request = (
  method: "GET" | "POST" | "PUT",
  path: string,
  body: string | undefined,
  signal: AbortSignal | undefined,
) => Promise<Record<string, unknown>>;

/** The caller may not want to wait longer. */
const RETRY_AFTER_MAX_MS = 5 * 60_000;

const RETRY_PERIOD_MS = 5 * 60_000;

const COUNT_OPTIONS = ["triesMax", "timeoutMs", "inFlightMax", "requestsPerSecond"] as const;

/** @throws TypeError if an option is invalid, such as a `baseUrl` that is not https */
export function createRequest(options: RequestOptions, transport: Transport): Request {
  const { triesMax = Number.POSITIVE_INFINITY, retryForMs = RETRY_PERIOD_MS, timeoutMs = 30_000 } = options;
  const { jitter = Math.random, sleep = abortableSleep } = options;
  const addresses = [options.baseUrl].flat().map((url) => new URL(url));
  if (addresses.length === 0) throw new TypeError("baseUrl must hold at least one URL");
  if (addresses.some(({ protocol }) => protocol !== "https:")) throw new TypeError("baseUrl must start with https://");
  if (!(retryForMs >= 0)) throw new TypeError("retryForMs must be a number of at least 0");
  // Detects an unset environment variable before every request fails.
  if (!/^[\x21-\x7e]+$/.test(options.apiKey ?? "")) throw new TypeError("apiKey must be a Dunlin API key");
  for (const name of COUNT_OPTIONS)
    if (options[name] !== undefined && !(Number.isInteger(options[name]) && options[name] >= 1))
      throw new TypeError(`${name} must be an integer of at least 1`);
  const prefixes = addresses.map(({ href }) => href.replace(/\/+$/, ""));
  /** The address that answered last. */
  let current = 0;
  const pace = createRequestPacer({
    inFlightMax: options.inFlightMax ?? 5,
    perSecond: options.requestsPerSecond ?? 100,
    nowMs: () => performance.now(),
    sleep,
  });

  return async (method, path, body, signal) => {
    const headers: Record<string, string> = { authorization: `Bearer ${options.apiKey}`, accept: "application/json" };
    if (body !== undefined) headers["content-type"] = "application/json";
    let waitedMs = 0;
    for (let tries = 1; ; tries++) {
      const index = current;
      const request: TransportRequest = { method, url: prefixes[index]! + path, headers, body, timeoutMs, signal };
      const answer = await pace.run(signal, () => attempt(transport, request));
      signal?.throwIfAborted();
      const minDelayMs = answer instanceof Error ? 0 : retryAfterMs(answer);
      const delayMs = backoffDelayMs(tries, minDelayMs, jitter());
      const isLast = tries >= triesMax || waitedMs + delayMs > retryForMs;
      if (answer instanceof Error) {
        if (isLast)
          throw new DunlinError(0, `no answer from ${addresses[index]!.host}: ${answer.message}`, { cause: answer });
      } else if (isLast || !isRetryable(answer.status) || retryAfterMs(answer) > RETRY_AFTER_MAX_MS) {
        return readAnswer(answer);
      }
      // After a 429, another address would not help: the limit is per key.
      const isDown = answer instanceof Error || answer.status >= 500;
      if (isDown && current === index) current = (index + 1) % prefixes.length;
      waitedMs += delayMs;
      await sleep(delayMs, signal);
    }
  };
}

async function attempt(transport: Transport, request: TransportRequest): Promise<TransportAnswer | Error> {
  try {
    return await transport.send(request);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function readAnswer(answer: TransportAnswer): Record<string, unknown> {
  const body = parseObject(answer.body);
  if (answer.status >= 200 && answer.status < 300 && body) return body;
  const message = typeof body?.message === "string" ? body.message : `unexpected answer with status ${answer.status}`;
  throw new DunlinError(answer.status, message, {
    requestId: answer.headers["x-request-id"],
    details: Array.isArray(body?.details) ? body.details : [],
    retryAfterMs: retryAfterMs(answer),
  });
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

async function abortableSleep(ms: number, signal?: AbortSignal) {
  await timer(ms, undefined, { signal }).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw error;
  });
}
