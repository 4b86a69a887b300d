import type { DemoMerchant } from "../../../simulator/merchant/demo-merchant.ts";
import type { Transaction } from "../../../src/domain/transaction.ts";
import type { Journal } from "../journal.ts";
import { recordPushed } from "../journal.ts";
import type { VirtualTime } from "../stage/virtual-time.ts";
import { createManualPayer } from "./manual-attempts.ts";
import type { Pusher } from "./pusher.ts";
import { type RecordKindName, type StoredRecord, toDomainRecord } from "./record-conversion.ts";

/** The merchant's side: creates invoices on time, and pushes its records late, twice and out of order. */
export interface BillingDesk {
  run(isOver: () => boolean): Promise<void>;
  wake(): void;
  /** From now on batches go out in order and at once, and no new invoice is created. */
  close(): void;
}

interface Batch {
  kind: RecordKindName;
  records: StoredRecord[];
  dueMs: number;
  isRepeated: boolean;
}

interface Options {
  seed: number;
  draw(): number;
  time: VirtualTime;
  merchant: DemoMerchant;
  pusher: Pusher;
  journal: Journal;
  pushTransactions: boolean;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** If nothing is planned. */
const IDLE_POLL_MS = 24 * HOUR_MS;
const BATCH_MAX = 100;
const REPEATED_RATE = 0.12;
/** Long enough for a newer version to be stored already. */
const REPEATED_WITHIN_MS = 10 * 24 * HOUR_MS;

export function createBillingDesk({
  seed,
  draw,
  time,
  merchant,
  pusher,
  journal,
  pushTransactions,
}: Options): BillingDesk {
  const stranger = createManualPayer(seed, (id) => merchant.invoice(id)?.state === "UNPAID");
  let queue: Batch[] = [];
  let stepFromMs = 0;
  let isOpen = true;
  let sleeping = { cut() {} };

  /** Mostly within a minute; sometimes hours later, so that newer versions overtake. */
  function delayMs() {
    if (!isOpen) return 0;
    const kind = draw();
    if (kind < 0.7) return draw() * MINUTE_MS;
    return kind < 0.95 ? draw() * 30 * MINUTE_MS : draw() * 14 * HOUR_MS;
  }

  function enqueue(kind: RecordKindName, records: readonly StoredRecord[]) {
    for (let from = 0; from < records.length; from += BATCH_MAX) {
      const dueMs = time.nowMs() + delayMs();
      queue.push({ kind, records: records.slice(from, from + BATCH_MAX), dueMs, isRepeated: false });
    }
  }

  function book() {
    if (!isOpen || time.nowMs() < stepFromMs) return;
    merchant.step(time.now());
    const out = merchant.takeOutbox();
    const transactions = out.transactions.map(toDomainRecord) as Transaction[];
    if (pushTransactions) {
      for (const transaction of transactions) stranger.notice(transaction);
      transactions.push(...stranger.attempts(time.now()));
    }
    enqueue("subscriptions", out.subscriptions.map(toDomainRecord));
    enqueue("transactions", transactions);
    enqueue("invoices", out.invoices.map(toDomainRecord));
    // A billing system checks its books at intervals, so a push carries all changes in between.
    stepFromMs = time.nowMs() + (draw() < 0.4 ? draw() * 10 * MINUTE_MS : draw() * 8 * HOUR_MS);
  }

  async function push(batch: Batch) {
    const pushed = recordPushed(journal, batch.kind, batch.records, time.nowMs());
    if (!(await pusher.push(batch.kind, batch.records))) {
      queue.push({ ...batch, dueMs: time.nowMs() + draw() * MINUTE_MS });
      return;
    }
    for (const one of pushed) one.ackMs ??= time.nowMs();
    await pusher.acknowledged(batch.kind, batch.records);
    if (batch.isRepeated) journal.counts.repeated++;
    if (isOpen && draw() < REPEATED_RATE)
      queue.push({ ...batch, dueMs: time.nowMs() + draw() ** 2 * REPEATED_WITHIN_MS, isRepeated: true });
  }

  async function pushDue() {
    const due = queue.filter(({ dueMs }) => dueMs <= time.nowMs()).sort((a, b) => a.dueMs - b.dueMs);
    queue = queue.filter((batch) => !due.includes(batch));
    // Two at once, as concurrent requests of the merchant.
    const waiting = due.values();
    const worker = async () => {
      for (const batch of waiting) await push(batch);
    };
    await Promise.all([worker(), worker()]);
  }

  function nextMs() {
    const moments = [merchant.nextAt(), stranger.nextAt()].map((at) => Math.max(at?.getTime() ?? Infinity, stepFromMs));
    return Math.min(...(isOpen ? moments : []), ...queue.map(({ dueMs }) => dueMs), time.nowMs() + IDLE_POLL_MS);
  }

  return {
    async run(isOver) {
      while (!isOver()) {
        book();
        await pushDue();
        const sleep = time.sleepUntil(Math.max(nextMs(), time.nowMs() + 1));
        sleeping = sleep;
        await sleep.over;
      }
    },
    wake: () => sleeping.cut(),
    close() {
      isOpen = false;
      const nowMs = time.nowMs();
      queue = queue.map((batch) => ({ ...batch, dueMs: Math.min(batch.dueMs, nowMs) }));
      sleeping.cut();
    },
  };
}
