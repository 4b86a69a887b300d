import type { WebhookEvent } from "#sdk";
import { createCustomer } from "../world/customer.ts";
import { findDeclineCause } from "../world/decline-causes.ts";
import { DAY_MS, HOUR_MS, keyedRandom } from "../world/keyed-random.ts";
import { addSubscription } from "./bill-subscriptions.ts";
import { type Summary, summarize } from "./demo-summary.ts";
import { followEvent } from "./follow-events.ts";
import type { BookedInvoice } from "./merchant-books.ts";
import { createMerchantState, type MerchantStateOptions } from "./merchant-state.ts";
import { createPushQueue, type PushQueue } from "./push-queue.ts";

export interface DemoMerchantOptions extends MerchantStateOptions {
  /** A new customer replaces each one that leaves. */
  customers: number;
  /** The first invoices are due right after this. */
  startAt: Date;
}

/** A billing system without clock, randomness or network: time is passed in, records are taken out. */
export interface DemoMerchant {
  /** Does everything due by `now`. */
  step(now: Date): void;
  nextAt(): Date | null;
  /** The following steps carry out the event. A repeated event changes nothing. */
  receive(event: WebhookEvent, now: Date): { success: true };
  /** Takes the records that were not taken yet. */
  takeOutbox(): PushQueue;
  invoice(id: string): BookedInvoice | undefined;
  invoices(): BookedInvoice[];
  summary(): Summary;
}

/** Most of them early on. */
const FIRST_BILLS_WITHIN_DAYS = 15;
/** The first failures appear after two, four and six seconds, with any seed. */
const EARLY_FAILURES = 3;
const EARLY_FAILURE_EVERY_MS = 5 * HOUR_MS;
const MAX_AGE_DAYS = 400;

/** Follows Dunlin's instructions; its customers' cards fail for different reasons. */
export function createDemoMerchant(options: DemoMerchantOptions): DemoMerchant {
  const office = createMerchantState(options);
  const seenEvents = new Set<string>();
  const startMs = options.startAt.getTime();
  let early = 0;
  for (let number = 1; number <= options.customers; number++) {
    const fails = findDeclineCause(createCustomer(office.seed, number, startMs), 0) !== null;
    const afterMs =
      fails && early < EARLY_FAILURES
        ? ++early * EARLY_FAILURE_EVERY_MS
        : keyedRandom(office.seed, "first bill", number) ** 1.5 * FIRST_BILLS_WITHIN_DAYS * DAY_MS;
    addSubscription(office, startMs + afterMs, keyedRandom(office.seed, "age", number) * MAX_AGE_DAYS * DAY_MS);
  }
  return {
    step: (now) => office.agenda.run(now),
    nextAt: () => office.agenda.nextAt(),
    receive(event, now) {
      if (!seenEvents.has(event.id)) office.agenda.add(now.getTime(), (at) => followEvent(office, event, at));
      seenEvents.add(event.id);
      return { success: true };
    },
    takeOutbox() {
      const taken = office.outbox;
      office.outbox = createPushQueue();
      return taken;
    },
    invoice: (id) => office.invoices.get(id),
    invoices: () => [...office.invoices.values()],
    summary: () => summarize([...office.invoices.values()]),
  };
}
