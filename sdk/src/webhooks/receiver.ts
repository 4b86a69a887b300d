import type { WebhookReply } from "./bodies.ts";
import { createCredentialCheck, type WebhookCredential } from "./credential.ts";
import { type EventStore, memoryEventStore } from "./event-store.ts";
import { startWorker } from "./event-worker.ts";
import { type Refusal, refusalResponse } from "./refusal.ts";
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

interface CommonOptions<Context> {
  auth: WebhookCredential;
  /** `whsec_…`, two of them while one is rotated. With it, only requests that are signed within five minutes are taken. */
  secrets?: string | readonly string[];
  /**
   * Called for each event after it was acknowledged, and again with growing delays when it fails.
   *
   * @param context  what the store gives to write by in the transaction that ends the event; with the store in memory nothing
   */
  handle(event: WebhookEvent, context: Context): unknown;
  /** A try failed, and another follows; or the store failed, then there may be no event. Written to standard error by default. */
  onError?(error: unknown, event: WebhookEvent | null): void;
  /** The last try failed: somebody has to look. As `onError` by default. */
  onGiveUp?(error: unknown, event: WebhookEvent): void;
  /** Called for every request that was answered. */
  onExchange?(exchange: WebhookExchange): void;
  /** Bytes of a body; the default is 64 KiB, about a hundred times an event. */
  bodyLimit?: number;
  /** Events handled at once; 10 by default. */
  concurrency?: number;
  /** Tries of one event: 10 by default, which take about five hours. */
  triesMax?: number;
  /** A handler that takes longer is taken for crashed, and its event is handled again; five minutes by default. */
  leaseMs?: number;
  now?(): Date;
}

/** Events and their ids are kept in memory unless there is a store. */
export type ReceiverOptions<Context = undefined> = CommonOptions<Context> &
  (undefined extends Context ? { store?: EventStore<Context> } : { store: EventStore<Context> });

/** The merchant's endpoint. `receive` goes wherever a web-standard handler does; the adapters bring it to the others. */
export interface WebhookReceiver {
  receive(request: Request): Promise<Response>;
  /** Bytes of a body; what is longer need not be read to its end. */
  readonly bodyLimit: number;
  /** Whether the body must come as it was sent, because its signature is checked. */
  readonly signed: boolean;
  /** Handles no more events, and resolves when those in hand have ended; requests are still answered. */
  stop(): Promise<void>;
}

type AcceptedExchange = Omit<WebhookExchange, "status">;

/**
 * The merchant's side of Dunlin's webhooks.
 *
 * An event is acknowledged with 200 once the store has it, and handled afterwards; a test event is only acknowledged. Every path is
 * taken; one that ends in `/recovery_action`, `/pause_collection` or `/complete_dunning` takes only its own events. Refusals are those
 * of the interface and no others: 400, 401, 429 and 500.
 *
 * @throws TypeError when the credential or a secret is none
 */
export function createWebhookReceiver<Context = undefined>(options: ReceiverOptions<Context>): WebhookReceiver {
  const { auth, secrets, bodyLimit = 64 * 1024, now = () => new Date() } = options;
  const onError = options.onError ?? ((error, event) => console.error("dunlin webhook", event?.id, error));
  const allowed = createCredentialCheck(auth);
  // What is wrong with them is told at once, and not when the first event comes.
  if (secrets !== undefined) signingKeys(secrets);
  const store = options.store ?? (memoryEventStore() as EventStore<Context>);
  const worker = startWorker<Context>({
    store,
    handle: options.handle,
    onError,
    onGiveUp: options.onGiveUp ?? onError,
    concurrency: options.concurrency ?? 10,
    triesMax: options.triesMax ?? 10,
    leaseMs: options.leaseMs ?? 5 * 60_000,
    now,
  });

  async function take(request: Request): Promise<AcceptedExchange | Refusal> {
    if (!allowed(request.headers.get("authorization"))) {
      const headers = { "www-authenticate": "Bearer, Basic" };
      return { status: 401, message: "credentials missing or invalid", headers };
    }
    if (request.method !== "POST") return { status: 400, message: "only POST is taken" };
    if (!/^application\/json\s*(;|$)/i.test(request.headers.get("content-type") ?? ""))
      return { status: 400, message: "the content type must be application/json" };
    const body = await readBody(request, bodyLimit);
    if (body === null) return { status: 400, message: `the body is larger than ${bodyLimit} bytes` };
    const forged = secrets && verifyWebhookSignature({ secrets, headers: request.headers, body, now: now() });
    if (forged) return { status: 401, message: forged };
    const text = decodeUtf8(body);
    if (text === null) return { status: 400, message: "the body is not UTF-8" };
    const { event, problem } = parseWebhookEvent(text, new URL(request.url).pathname);
    if (!event) return { status: 400, message: problem };
    return event.test ? { eventId: event.id, type: event.type, duplicate: false, test: true } : keep(event);
  }

  async function keep(event: WebhookEvent): Promise<AcceptedExchange | Refusal> {
    try {
      if (await store.full?.())
        return { status: 429, message: "too many events wait to be handled", headers: { "retry-after": "1" } };
      const isNew = await store.keep(event, now());
      // After the answer: that the event was taken does not depend on how its handling begins.
      if (isNew) setImmediate(worker.wake);
      return { eventId: event.id, type: event.type, duplicate: !isNew };
    } catch (error) {
      onError(error, event);
      return { status: 500, message: "the event could not be kept" };
    }
  }

  return {
    bodyLimit,
    signed: secrets !== undefined,
    async receive(request) {
      const outcome = await take(request).catch((error: unknown): Refusal => {
        onError(error, null);
        return { status: 500, message: "unexpected error" };
      });
      const refused = "status" in outcome;
      const exchange = refused ? { eventId: null, type: null, duplicate: false } : outcome;
      options.onExchange?.({ ...exchange, status: refused ? outcome.status : 200 });
      return refused
        ? refusalResponse(outcome)
        : Response.json({ success: true, ...replyMessageOf(outcome) } satisfies WebhookReply);
    },
    stop: worker.stop,
  };
}

function replyMessageOf({ duplicate, test }: AcceptedExchange) {
  if (test) return { message: "test event taken" };
  return duplicate ? { message: "taken before" } : {};
}

/** The body, or null when it is larger than `limit`: streamed bytes are counted, whatever Content-Length says. */
async function readBody(request: Request, limit: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > limit) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function decodeUtf8(bytes: Uint8Array) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
