import { type Agenda, createAgenda } from "./agenda.ts";
import type { BookedInvoice } from "./ledger.ts";
import { invoiceLine } from "./lines.ts";
import { emptyOutbox, type Outbox } from "./outbox.ts";

export interface OfficeOptions {
  seed: number;
  /** False: Dunlin gets subscriptions and invoices only. */
  pushTransactions?: boolean;
  /** One line for people about everything that happens to a failed invoice. */
  print?(line: string): void;
}

/** What billing, charging and obeying share: the books, the agenda and the mail that goes out. */
export interface Office {
  seed: number;
  agenda: Agenda;
  invoices: Map<string, BookedInvoice>;
  outbox: Outbox;
  pushTransactions: boolean;
  nextTransactionId(): string;
  nextCustomerNumber(): number;
  /** Prints a line about an invoice. */
  tell(at: Date, invoice: BookedInvoice, what: string): void;
}

export function openOffice({ seed, pushTransactions = true, print = () => {} }: OfficeOptions): Office {
  let transactions = 0;
  let customers = 0;
  return {
    seed,
    agenda: createAgenda(),
    invoices: new Map(),
    outbox: emptyOutbox(),
    pushTransactions,
    nextTransactionId: () => `txn_${String(++transactions).padStart(6, "0")}`,
    nextCustomerNumber: () => ++customers,
    tell: (at, invoice, what) => print(invoiceLine(at, invoice, what)),
  };
}

/** The date of a newer version of a record: of two with the same date Dunlin keeps the one whose state is further along. */
export const newerThan = (earlier: Date, at: Date) => new Date(Math.max(at.getTime(), earlier.getTime() + 1));
