import { DunlinError } from "./dunlin-error.ts";
import type { IngestReply, Invoice, Subscription, Transaction } from "./records.ts";
import type { Request } from "./request.ts";

export type Records<T> = Iterable<T> | AsyncIterable<T>;

export interface IngestOptions {
  /** Aborts the push. Requests in flight are cut off, and their records may have been stored. */
  signal?: AbortSignal | undefined;
  /** Called for each stored batch, not always in order. */
  onBatch?(batch: IngestedBatch): void;
}

export interface IngestedBatch {
  requestId: string;
  /** The batch's first index in the iterable. */
  firstRecord: number;
  records: number;
}

export interface Ingested {
  records: number;
  requests: number;
}

/**
 * Pushes records in batches, several at once.
 *
 * Reads an iterable only as fast as Dunlin accepts its records, so memory stays constant. You can push everything again at any
 * time: the newer `updatedAt` wins. After a failure, no further batch starts; those in flight may be stored too.
 */
export interface Ingest {
  subscriptions(records: Records<Subscription>, options?: IngestOptions): Promise<Ingested>;
  invoices(records: Records<Invoice>, options?: IngestOptions): Promise<Ingested>;
  transactions(records: Records<Transaction>, options?: IngestOptions): Promise<Ingested>;
}

/** Dunlin accepts 200, but guarantees only 100. */
const BATCH_SIZE = 100;

export function createIngest(request: Request, inFlightMax: number): Ingest {
  const ingest =
    (kindName: string) =>
    (records: Records<unknown>, options: IngestOptions = {}) =>
      rejectWhenAborted(options.signal, pushAll(request, inFlightMax, kindName, records, options));
  return {
    subscriptions: ingest("subscriptions"),
    invoices: ingest("invoices"),
    transactions: ingest("transactions"),
  };
}

async function pushAll(
  request: Request,
  inFlightMax: number,
  kindName: string,
  records: Records<unknown>,
  { signal, onBatch }: IngestOptions,
): Promise<Ingested> {
  const result: Ingested = { records: 0, requests: 0 };
  const inFlight = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;

  async function push(batch: unknown[], firstRecord: number) {
    try {
      const path = `/ingest/v1/${kindName}`;
      const reply = await request("POST", path, JSON.stringify({ [kindName]: batch }), signal);
      result.records += batch.length;
      result.requests++;
      onBatch?.({ requestId: (reply as unknown as IngestReply).requestId, firstRecord, records: batch.length });
    } catch (error) {
      if (error instanceof DunlinError) error.firstRecord = firstRecord;
      failure ??= { error };
    }
  }

  let firstRecord = 0;
  try {
    for await (const batch of batchesOf(records)) {
      signal?.throwIfAborted();
      const pushing: Promise<void> = push(batch, firstRecord).finally(() => inFlight.delete(pushing));
      inFlight.add(pushing);
      firstRecord += batch.length;
      if (inFlight.size >= inFlightMax) await Promise.race(inFlight);
      if (failure) break;
    }
  } finally {
    await Promise.all(inFlight);
  }
  if (failure) throw failure.error;
  return result;
}

async function* batchesOf(records: Records<unknown>): AsyncGenerator<unknown[], void, undefined> {
  let batch: unknown[] = [];
  if (Symbol.asyncIterator in records) {
    for await (const record of records) {
      batch.push(record);
      if (batch.length < BATCH_SIZE) continue;
      yield batch;
      batch = [];
    }
  } else {
    // Faster than `for await`, which would yield for each record.
    for (const record of records) {
      batch.push(record);
      if (batch.length < BATCH_SIZE) continue;
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

/** Rejects at once, because the source of the records may never yield again. */
async function rejectWhenAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (!signal) return work;
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
