import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "#sdk";
import { isQueueEmpty, type PushQueue } from "../merchant/push-queue.ts";

const PAUSE_MS = 50;
const PAUSE_AFTER_FAILURE_MS = 1000;

/**
 * Pushes records in order, one push at a time. Repeats a rejected push until it succeeds, because ingest is idempotent.
 *
 * @param take  returns the records booked since the last call
 * @param print  called once when pushing fails, and once when it works again
 * @returns stops after one last push
 */
export function startPushingRecords(client: Client, take: () => PushQueue, print: (line: string) => void) {
  const stopping = new AbortController();
  let failing = false;

  async function pushed(records: PushQueue) {
    try {
      await client.ingest.subscriptions(records.subscriptions);
      await client.ingest.transactions(records.transactions);
      await client.ingest.invoices(records.invoices);
      if (failing) print("Dunlin accepts records again");
      failing = false;
      return true;
    } catch (error) {
      if (!failing) print(`Dunlin rejected records, pushing them again: ${(error as Error).message}`);
      failing = true;
      return false;
    }
  }

  const running = (async () => {
    let records = take();
    for (;;) {
      const last = stopping.signal.aborted;
      const done = isQueueEmpty(records) || (await pushed(records));
      if (last) return;
      await sleep(done ? PAUSE_MS : PAUSE_AFTER_FAILURE_MS, undefined, { signal: stopping.signal }).catch(() => {});
      if (done) records = take();
    }
  })();

  return async () => {
    stopping.abort();
    await running;
  };
}
