import { DunlinError } from "./dunlin-error.ts";
import type { IngestReply, Invoice, Subscription, Transaction } from "./records.ts";
import type { Request } from "./request.ts";

export type Records<T> = Iterable<T> | AsyncIterable<T>;

export interface IngestOptions {
  /** Ends it: what is on its way is cut off and may have been stored. */
  signal?: AbortSignal | undefined;
  /** Called for each batch that is stored, not always in order. */
  onBatch?(batch: IngestedBatch): void;
}

export interface IngestedBatch {
  requestId: string;
  /** Where in the iterable it began. */
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
 * An iterable is read as fast as Dunlin takes its records, so a million of them need no more memory than a few batches.
 * Everything may be pushed again at any time: of two copies of a record the one with the newer `updatedAt` stays. After a
 * failure no further batch is begun; those before it are stored, and those that were under way mostly are too.
 */
export interface Ingest {
  subscriptions(records: Records<Subscription>, options?: IngestOptions): Promise<Ingested>;
  invoices(records: Records<Invoice>, options?: IngestOptions): Promise<Ingested>;
  transactions(records: Records<Transaction>, options?: IngestOptions): Promise<Ingested>;
}

/** Dunlin takes 200 at once but promises only 100. */
const BATCH_SIZE = 100;

/** @param inFlightMax  batches under way at once */
export function createIngest(request: Request, inFlightMax: number): Ingest {
  const ingest =
    (plural: string) =>
    (records: Records<unknown>, options: IngestOptions = {}) =>
      rejectWhenAborted(options.signal, pushAll(request, inFlightMax, plural, records, options));
  return {
    subscriptions: ingest("subscriptions"),
    invoices: ingest("invoices"),
    transactions: ingest("transactions"),
  };
}

async function pushAll(
  request: Request,
  inFlightMax: number,
  plural: string,
  records: Records<unknown>,
  { signal, onBatch }: IngestOptions,
): Promise<Ingested> {
  const done: Ingested = { records: 0, requests: 0 };
  const underWay = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;

  async function push(batch: unknown[], firstRecord: number) {
    try {
      const path = `/ingest/v1/${plural}`;
      const reply = await request("POST", path, JSON.stringify({ [plural]: batch }), signal);
      done.records += batch.length;
      done.requests++;
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
      const pushing: Promise<void> = push(batch, firstRecord).finally(() => underWay.delete(pushing));
      underWay.add(pushing);
      firstRecord += batch.length;
      if (underWay.size >= inFlightMax) await Promise.race(underWay);
      if (failure) break;
    }
  } finally {
    await Promise.all(underWay);
  }
  if (failure) throw failure.error;
  return done;
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
    // Not by the loop above, which would wait a turn for each record.
    for (const record of records) {
      batch.push(record);
      if (batch.length < BATCH_SIZE) continue;
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

/** The work's result, or at once the signal's reason: the source of the records may never give another one. */
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
