import type { WebhookReply } from "./bodies.ts";
import { createCredentialCheck, type WebhookCredential } from "./credential.ts";
import { type EventStore, memoryEventStore } from "./event-store.ts";
import { startWorker } from "./event-worker.ts";
import { type Refusal, refusalResponse } from "./refusal.ts";
import { parseWebhookEvent, type WebhookEvent } from "./webhook-event.ts";
import { signingKeys, verifyWebhookSignature } from "./webhook-signature.ts";

/** An answered request, for logging. */
export interface WebhookExchange {
  /** null if the request was refused before an event was read. */
  eventId: string | null;
  type: WebhookEvent["type"] | null;
  /** Whether the event was received before. */
  duplicate: boolean;
  test?: true;
  status: number;
}

interface CommonOptions<Context> {
  auth: WebhookCredential;
  /** `whsec_…`; two secrets during a rotation. If set, only requests signed within the last five minutes are accepted. */
  secrets?: string | readonly string[];
  /**
   * Called for each event after its acknowledgement, and again with growing delays after a failure.
   *
   * @param context  from the store: writes through it are committed together with the event's end; undefined for the memory store
   */
  handle(event: WebhookEvent, context: Context): unknown;
  /**
   * Called when an attempt fails and another follows, or when the store fails; then the event may be null. Default: writes to
   * standard error.
   */
  onError?(error: unknown, event: WebhookEvent | null): void;
  /** Called when the last attempt fails, so that a person can look. Default: `onError`. */
  onGiveUp?(error: unknown, event: WebhookEvent): void;
  onExchange?(exchange: WebhookExchange): void;
  /** Maximum body size in bytes. Default: 64 KiB, about a hundred events. */
  bodyLimit?: number;
  /** Maximum events handled at once. Default: 10. */
  concurrency?: number;
  /** Maximum attempts to handle an event. Default: 10, over about five hours. */
  triesMax?: number;
  /** Then a handler counts as crashed, and its event is handled again. Default: five minutes. */
  leaseMs?: number;
  now?(): Date;
}

/** Without `store`, events and ids stay in memory. */
export type ReceiverOptions<Context = undefined> = CommonOptions<Context> &
  (undefined extends Context ? { store?: EventStore<Context> } : { store: EventStore<Context> });

/** The merchant's webhook endpoint. `receive` is a web-standard handler; adapters exist for other frameworks. */
export interface WebhookReceiver {
  receive(request: Request): Promise<Response>;
  /** Maximum body size in bytes. Adapters need not read beyond it. */
  readonly bodyLimit: number;
  /** Whether the body's original bytes are needed, because signatures are verified. */
  readonly signed: boolean;
  /** Stops handling events, and resolves when those in progress have ended. Requests are still answered. */
  stop(): Promise<void>;
}

type AcceptedExchange = Omit<WebhookExchange, "status">;

/**
 * Creates the receiver of Dunlin's webhooks.
 *
 * An event is acknowledged with 200 once the store has it, and handled afterwards. A test event is only acknowledged. Every path
 * is accepted; one that ends in the type of an event, such as `/recovery_action`, accepts only events of that type.
 * Refusals have a status of the API: 400, 401, 429 or 500.
 *
 * @throws TypeError if the credential or a secret is invalid
 */
export function createWebhookReceiver<Context = undefined>(options: ReceiverOptions<Context>): WebhookReceiver {
  const { auth, secrets, bodyLimit = 64 * 1024, now = () => new Date() } = options;
  const onError = options.onError ?? ((error, event) => console.error("dunlin webhook", event?.id, error));
  const isAuthorized = createCredentialCheck(auth);
  // Reports invalid secrets at once instead of at the first event.
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

  async function accept(request: Request): Promise<AcceptedExchange | Refusal> {
    if (!isAuthorized(request.headers.get("authorization"))) {
      const headers = { "www-authenticate": "Bearer, Basic" };
      return { status: 401, message: "credentials missing or invalid", headers };
    }
    if (request.method !== "POST") return { status: 400, message: "only POST is accepted" };
    if (!/^application\/json\s*(;|$)/i.test(request.headers.get("content-type") ?? ""))
      return { status: 400, message: "the content type must be application/json" };
    const body = await readBody(request, bodyLimit);
    if (body === null) return { status: 400, message: `the body is larger than ${bodyLimit} bytes` };
    const signatureProblem = secrets && verifyWebhookSignature({ secrets, headers: request.headers, body, now: now() });
    if (signatureProblem) return { status: 401, message: signatureProblem };
    const text = decodeUtf8(body);
    if (text === null) return { status: 400, message: "the body is not UTF-8" };
    const { event, problem } = parseWebhookEvent(text, new URL(request.url).pathname);
    if (!event) return { status: 400, message: problem };
    return event.test ? { eventId: event.id, type: event.type, duplicate: false, test: true } : storeEvent(event);
  }

  async function storeEvent(event: WebhookEvent): Promise<AcceptedExchange | Refusal> {
    try {
      if (await store.full?.())
        return { status: 429, message: "too many events wait to be handled", headers: { "retry-after": "1" } };
      const isNew = await store.keep(event, now());
      // After the answer, so that the handler cannot delay or break it.
      if (isNew) setImmediate(worker.wake);
      return { eventId: event.id, type: event.type, duplicate: !isNew };
    } catch (error) {
      onError(error, event);
      return { status: 500, message: "the event could not be stored" };
    }
  }

  return {
    bodyLimit,
    signed: secrets !== undefined,
    async receive(request) {
      const outcome = await accept(request).catch((error: unknown): Refusal => {
        onError(error, null);
        return { status: 500, message: "unexpected error" };
      });
      const isRefused = "status" in outcome;
      const exchange = isRefused ? { eventId: null, type: null, duplicate: false } : outcome;
      options.onExchange?.({ ...exchange, status: isRefused ? outcome.status : 200 });
      return isRefused
        ? refusalResponse(outcome)
        : Response.json({ success: true, ...replyMessageOf(outcome) } satisfies WebhookReply);
    },
    stop: worker.stop,
  };
}

function replyMessageOf({ duplicate, test }: AcceptedExchange) {
  if (test) return { message: "test event accepted" };
  return duplicate ? { message: "already accepted" } : {};
}

/** null if the body is larger than `limit`. Counts bytes, because Content-Length may be wrong. */
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
