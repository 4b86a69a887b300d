import type { BookedInvoice } from "./merchant-books.ts";
import { createPushQueue, type PushQueue } from "./push-queue.ts";
import { formatInvoiceLine } from "./terminal-lines.ts";
import { createWorkSchedule, type WorkSchedule } from "./work-schedule.ts";

export interface MerchantStateOptions {
  seed: number;
  /** False: Dunlin gets subscriptions and invoices only. */
  pushTransactions?: boolean;
  /** Receives a line for everything that happens to a failed invoice. */
  print?(line: string): void;
}

/** Shared by billing, charging and event handling. */
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

/** If two versions have the same date, Dunlin keeps the state that is further along. */
export const newerDate = (earlier: Date, at: Date) => new Date(Math.max(at.getTime(), earlier.getTime() + 1));
