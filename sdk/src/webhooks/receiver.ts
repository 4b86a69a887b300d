import type { IncomingMessage, ServerResponse } from "node:http";
import { createSeenEvents, type SeenEvents } from "./seen-events.ts";
import { credentialCheck, type WebhookCredential } from "./webhook-credential.ts";
import { parseWebhookEvent, type WebhookEvent } from "./webhook-event.ts";
import { signingKeys, verifyWebhookSignature } from "./webhook-signature.ts";

/** One answered request, for a journal. */
export interface WebhookExchange {
  /** Null when the request was refused before an event could be read. */
  eventId: string | null;
  type: WebhookEvent["type"] | null;
  /** The event had been taken before. */
  duplicate: boolean;
  /** Somebody tried the endpoint out; there was nothing to handle. */
  test?: true;
  status: number;
}

export interface ReceiverOptions {
  auth: WebhookCredential;
  /** `whsec_…`, two of them while one is rotated. With it, only requests that are signed within five minutes are taken. */
  secrets?: string | readonly string[];
  /** Called once per event, after it was acknowledged. */
  handle(event: WebhookEvent): unknown;
  /** Where ids are kept; in memory by default. */
  seen?: SeenEvents;
  /** `handle` failed; the event was acknowledged already and will not come again. */
  onError?(error: unknown, event: WebhookEvent): void;
  /** Called for every request that was answered. */
  onExchange?(exchange: WebhookExchange): void;
  /** Bytes of a body; the default is 64 KiB, about a hundred times an event. */
  bodyLimit?: number;
  /** Events being handled at once; above it requests are answered with 429. The default is 1,000. */
  handlingMax?: number;
}

interface Refusal {
  status: 400 | 401 | 405 | 413 | 415 | 429 | 500;
  message: string;
  headers?: Record<string, string>;
}

const ERROR_CODES = {
  400: "invalid_request",
  401: "unauthorized",
  405: "invalid_request",
  413: "invalid_request",
  415: "invalid_request",
  429: "rate_limit_exceeded",
  500: "server_error",
} as const;

/**
 * The merchant's side of Dunlin's webhooks, as a listener for `https.createServer`.
 *
 * An event is acknowledged with 200 once its id is kept, and handled afterwards, at most once; a test event is only acknowledged. Every path is taken; a path
 * that ends in `/recovery_action`, `/pause_collection` or `/complete_dunning` takes only its own events.
 */
export function createWebhookReceiver(options: ReceiverOptions) {
  const allowed = credentialCheck(options.auth);
  const { secrets } = options;
  // What is wrong with them is told at once, and not when the first event comes.
  if (secrets !== undefined) signingKeys(secrets);
  const seen = options.seen ?? createSeenEvents();
  const bodyLimit = options.bodyLimit ?? 64 * 1024;
  const handlingMax = options.handlingMax ?? 1000;
  let handling = 0;

  async function take(request: IncomingMessage): Promise<Omit<WebhookExchange, "status"> | Refusal> {
    if (!allowed(request.headersDistinct.authorization)) {
      return {
        status: 401,
        message: "credentials missing or invalid",
        headers: { "www-authenticate": "Bearer, Basic" },
      };
    }
    if (request.method !== "POST") return { status: 405, message: "only POST is taken", headers: { allow: "POST" } };
    if (!/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")) {
      return { status: 415, message: "the content type must be application/json" };
    }
    const body = await readBody(request, bodyLimit);
    if (body === null) {
      // Without the close, the rest of the body would have to be read before the next request.
      const headers = { connection: "close" };
      return { status: 413, message: `the body is larger than ${bodyLimit} bytes`, headers };
    }
    const forged =
      secrets === undefined ? null : verifyWebhookSignature({ secrets, headers: request.headersDistinct, body });
    if (forged !== null) return { status: 401, message: forged };
    const text = utf8(body);
    if (text === null) return { status: 400, message: "the body is not UTF-8" };
    const { event, problem } = parseWebhookEvent(text, request.url?.split("?")[0]);
    if (!event) return { status: 400, message: problem };
    if (event.test) return { eventId: event.id, type: event.type, duplicate: false, test: true };
    if (handling >= handlingMax) {
      return { status: 429, message: "too many events are being handled", headers: { "retry-after": "1" } };
    }
    const isNew = await seen.add(event);
    if (isNew) {
      handling++;
      // Not when the answer is written: the id is kept, so the event must be handled even if the caller is gone.
      setImmediate(() => void handle(event));
    }
    return { eventId: event.id, type: event.type, duplicate: !isNew };
  }

  async function handle(event: WebhookEvent) {
    try {
      await options.handle(event);
    } catch (error) {
      options.onError?.(error, event);
    } finally {
      handling--;
    }
  }

  return (request: IncomingMessage, response: ServerResponse) => {
    take(request)
      .catch((error: unknown): Refusal | null =>
        // A caller that went away in the middle of its body hears nothing; it will come again.
        request.errored === error ? null : { status: 500, message: "the event could not be kept" },
      )
      .then((outcome) => {
        if (outcome === null) return;
        const refused = "status" in outcome;
        if (refused) refuse(response, outcome);
        else reply(response, 200, { success: true, ...messageOf(outcome) });
        const exchange = refused ? { eventId: null, type: null, duplicate: false } : outcome;
        options.onExchange?.({ ...exchange, status: refused ? outcome.status : 200 });
      });
  };
}

function messageOf({ duplicate, test }: Omit<WebhookExchange, "status">) {
  if (test) return { message: "test event taken" };
  return duplicate ? { message: "taken before" } : {};
}

const refuse = (response: ServerResponse, { status, message, headers }: Refusal) =>
  reply(response, status, { success: false, error_code: ERROR_CODES[status], message }, headers);

function reply(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}) {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    ...headers,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}

/** The body, or null when it is larger than `limit`: streamed bytes are counted, whatever Content-Length says. */
async function readBody(request: IncomingMessage, limit: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Not `for await`: leaving such a loop early destroys the socket, and with it the answer.
  return new Promise((resolve, reject) => {
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) return chunks.push(chunk);
      request.pause();
      resolve(null);
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
  });
}

function utf8(bytes: Buffer) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
