import type { BookedInvoice } from "./merchant-books.ts";
import { createPushQueue, type PushQueue } from "./push-queue.ts";
import { formatInvoiceLine } from "./terminal-lines.ts";
import { createWorkSchedule, type WorkSchedule } from "./work-schedule.ts";

export interface MerchantStateOptions {
  seed: number;
  /** False: Dunlin gets subscriptions and invoices only. */
  pushTransactions?: boolean;
  /** Receives one readable line for everything that happens to a failed invoice. */
  print?(line: string): void;
}

/** The state that billing, charging and event handling share: the books, the schedule and the records to push. */
export interface MerchantState {
  seed: number;
  agenda: WorkSchedule;
  invoices: Map<string, BookedInvoice>;
  outbox: PushQueue;
  pushTransactions: boolean;
  nextTransactionId(): string;
  nextCustomerNumber(): number;
  tell(at: Date, invoice: BookedInvoice, what: string): void;
}

export function createMerchantState({
  seed,
  pushTransactions = true,
  print = () => {},
}: MerchantStateOptions): MerchantState {
  let transactions = 0;
  let customers = 0;
  return {
    seed,
    agenda: createWorkSchedule(),
    invoices: new Map(),
    outbox: createPushQueue(),
    pushTransactions,
    nextTransactionId: () => `txn_${String(++transactions).padStart(6, "0")}`,
    nextCustomerNumber: () => ++customers,
    tell: (at, invoice, what) => print(formatInvoiceLine(at, invoice, what)),
  };
}

/**
 * Returns the date of a newer version of a record. Of two versions with the same date Dunlin keeps the one whose state is further
 * along.
 */
export const newerDate = (earlier: Date, at: Date) => new Date(Math.max(at.getTime(), earlier.getTime() + 1));
