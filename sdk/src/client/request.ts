import { setTimeout as timer } from "node:timers/promises";
import { backoffDelayMs, isRetryable, retryAfterMs } from "./backoff.ts";
import { DunlinError } from "./dunlin-error.ts";
import { createRequestPacer } from "./request-pacer.ts";
import type { Transport, TransportAnswer, TransportRequest } from "./transport.ts";

export interface RequestOptions {
  /** Such as `https://localhost:8443`; of several, another one is asked when one does not answer or fails. */
  baseUrl: string | readonly string[];
  apiKey: string;
  /** For how long a request is repeated, counted in waits between tries; the default is 5 minutes, which outlasts a restart of Dunlin. */
  retryForMs?: number;
  /** Tries of one request at most, the first one included; without it the time alone counts. */
  triesMax?: number;
  /** For one try; the default is 30 s. */
  timeoutMs?: number;
  /** Requests in flight at once; the default is 5, which is what Dunlin recommends. */
  inFlightMax?: number;
  /** Requests begun in any second; the default is 100, as many as Dunlin takes unless its operator allows more. */
  requestsPerSecond?: number;
  /** Chance between 0 and 1 that spreads repetitions. */
  jitter?(): number;
  /** Waits so long, or rejects with the signal's reason. */
  sleep?(ms: number, signal?: AbortSignal): Promise<unknown>;
}

/** Sends a request, repeated with growing delays as long as that may help, and gives the object of a 2xx answer. */
export type Request = (
  method: "GET" | "POST",
  path: string,
  body: string | undefined,
  signal: AbortSignal | undefined,
) => Promise<Record<string, unknown>>;

/** Somebody waits for this call: what asks for longer is told to the caller instead. */
const RETRY_AFTER_MAX_MS = 5 * 60_000;

const RETRY_PERIOD_MS = 5 * 60_000;

const COUNT_OPTIONS = ["triesMax", "timeoutMs", "inFlightMax", "requestsPerSecond"] as const;

/** @throws TypeError when the address is not https, the key is none, or a count is none */
export function createRequest(options: RequestOptions, transport: Transport): Request {
  const { triesMax = Number.POSITIVE_INFINITY, retryForMs = RETRY_PERIOD_MS, timeoutMs = 30_000 } = options;
  const { jitter = Math.random, sleep = abortableSleep } = options;
  const addresses = [options.baseUrl].flat().map((url) => new URL(url));
  if (addresses.length === 0) throw new TypeError("baseUrl must name an address");
  if (addresses.some(({ protocol }) => protocol !== "https:")) throw new TypeError("baseUrl must start with https://");
  if (!(retryForMs >= 0)) throw new TypeError("retryForMs must be a number from 0 on");
  // An unset setting is noticed here, and not as a refusal of every request.
  if (!/^[\x21-\x7e]+$/.test(options.apiKey ?? "")) throw new TypeError("apiKey must be a key of Dunlin's");
  for (const name of COUNT_OPTIONS)
    if (options[name] !== undefined && !(Number.isInteger(options[name]) && options[name] >= 1))
      throw new TypeError(`${name} must be a whole number from 1 on`);
  const prefixes = addresses.map(({ href }) => href.replace(/\/+$/, ""));
  /** Of the address that answered last. */
  let present = 0;
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
      const asked = present;
      const request: TransportRequest = { method, url: prefixes[asked]! + path, headers, body, timeoutMs, signal };
      const answer = await pace.run(signal, () => attempt(transport, request));
      signal?.throwIfAborted();
      const askedMs = answer instanceof Error ? 0 : retryAfterMs(answer);
      const delayMs = backoffDelayMs(tries, askedMs, jitter());
      const last = tries >= triesMax || waitedMs + delayMs > retryForMs;
      if (answer instanceof Error) {
        if (last)
          throw new DunlinError(0, `no answer from ${addresses[asked]!.host}: ${answer.message}`, { cause: answer });
      } else if (last || !isRetryable(answer.status) || retryAfterMs(answer) > RETRY_AFTER_MAX_MS) {
        return readAnswer(answer);
      }
      // Whoever is too fast for one address is too fast for all of them: the limit is of the key.
      const isDown = answer instanceof Error || answer.status >= 500;
      if (isDown && present === asked) present = (asked + 1) % prefixes.length;
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
