import { setTimeout as sleepFor } from "node:timers/promises";
import { delayBeforeNextTryMs, mayBeRepeated } from "./back-off.ts";
import { DunlinError } from "./dunlin-error.ts";
import type { Invoice, ListParams, RecoveryAction, RecoveryActionPage, Subscription, Transaction } from "./records.ts";
import { httpsTransport, type Transport, type TransportAnswer, type TransportRequest } from "./transport.ts";

export interface ClientOptions {
  /** Such as `https://localhost:8443`. */
  baseUrl: string;
  apiKey: string;
  /** PEM of the authority that signed Dunlin's certificate, when it is not a public one. */
  ca?: string | Buffer | undefined;
  /** Another way to send requests; `ca` is not used then. */
  transport?: Transport;
  /** Tries of one request, the first one included; the default is 6. */
  triesMax?: number;
  /** For one try; the default is 30 s. */
  timeoutMs?: number;
  /** Batches in flight at once, 1 to 5; the default is 1, which keeps the order. */
  concurrency?: number;
  /** Chance between 0 and 1 that spreads repetitions; none by default. */
  jitter?: () => number;
  sleep?: (ms: number) => Promise<unknown>;
}

/** Ingest is idempotent: after an error the same records may be sent again, and what got through changes nothing. */
export interface Client {
  /** Sends the records in batches of 100 and returns the request id of each batch, in order. */
  ingestSubscriptions(records: readonly Subscription[]): Promise<string[]>;
  ingestInvoices(records: readonly Invoice[]): Promise<string[]>;
  ingestTransactions(records: readonly Transaction[]): Promise<string[]>;
  /** One page. */
  recoveryActionsPage(params?: ListParams): Promise<RecoveryActionPage>;
  /** Every action over all pages, from `params.pageToken` on when there is one. */
  listRecoveryActions(params?: ListParams): AsyncGenerator<RecoveryAction, void, undefined>;
  /** Lets idle connections go. */
  close(): void;
}

/** Dunlin takes 200 at once but promises only 100. */
const BATCH_SIZE = 100;

/** A client of Dunlin's API. Methods throw `DunlinError`. */
export function createClient(options: ClientOptions): Client {
  const transport = options.transport ?? httpsTransport({ ca: options.ca });
  const call = caller(options, transport);

  async function ingest(plural: string, records: readonly unknown[]) {
    const batches = chunksOf(records, BATCH_SIZE);
    return mapInOrder(batches, options.concurrency ?? 1, async (batch) => {
      const answer = await call("POST", `/ingest/v1/${plural}`, JSON.stringify({ [plural]: batch }));
      return (answer as { requestId: string }).requestId;
    });
  }

  async function recoveryActionsPage(params: ListParams = {}) {
    const given = Object.entries(params).filter(([, value]) => value !== undefined);
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    return (await call("GET", `/v1/recovery_actions${query === "" ? "" : `?${query}`}`)) as RecoveryActionPage;
  }

  return {
    ingestSubscriptions: (records) => ingest("subscriptions", records),
    ingestInvoices: (records) => ingest("invoices", records),
    ingestTransactions: (records) => ingest("transactions", records),
    recoveryActionsPage,
    async *listRecoveryActions(params = {}) {
      let pageToken = params.pageToken;
      do {
        const page = await recoveryActionsPage(pageToken ? { ...params, pageToken } : params);
        yield* page.recoveryActions;
        pageToken = page.nextPageToken;
      } while (pageToken);
    },
    close: () => transport.close(),
  };
}

/** One request, repeated with growing delays as long as that may help. */
function caller(options: ClientOptions, transport: Transport) {
  const address = new URL(options.baseUrl);
  if (address.protocol !== "https:") throw new TypeError("baseUrl must start with https://");
  const prefix = address.href.replace(/\/+$/, "");
  const triesMax = options.triesMax ?? 6;
  const jitter = options.jitter ?? (() => 0);
  const sleep = options.sleep ?? sleepFor;

  return async (method: "GET" | "POST", path: string, body?: string) => {
    const headers: Record<string, string> = { authorization: `Bearer ${options.apiKey}`, accept: "application/json" };
    if (body !== undefined) headers["content-type"] = "application/json";
    const request = { method, url: prefix + path, headers, body, timeoutMs: options.timeoutMs ?? 30_000 };
    for (let tries = 1; ; tries++) {
      const answer = await attempt(transport, request);
      const last = tries >= triesMax;
      if (answer instanceof Error) {
        if (last) throw new DunlinError(0, `no answer from ${address.host}: ${answer.message}`, { cause: answer });
      } else if (last || !mayBeRepeated(answer.status)) {
        return readAnswer(answer);
      }
      await sleep(delayBeforeNextTryMs(tries, answer instanceof Error ? null : answer, jitter()));
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

function readAnswer(answer: TransportAnswer): unknown {
  const requestId = answer.headers["x-request-id"];
  const body = parsedObject(answer.body);
  if (answer.status >= 200 && answer.status < 300 && body) return body;
  const message = typeof body?.message === "string" ? body.message : `unexpected answer with status ${answer.status}`;
  throw new DunlinError(answer.status, message, {
    requestId: requestId ?? (typeof body?.requestId === "string" ? body.requestId : undefined),
    details: Array.isArray(body?.details) ? body.details : [],
  });
}

function parsedObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

const chunksOf = <T>(items: readonly T[], size: number) =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));

/** Runs `work` over the items, at most `concurrency` at once; after the first failure no further item is started. */
async function mapInOrder<T, R>(items: readonly T[], concurrency: number, work: (item: T) => Promise<R>) {
  const results: R[] = [];
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const index = next++;
      try {
        results[index] = await work(items[index]!);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(5, concurrency)) }, lane));
  return results;
}
