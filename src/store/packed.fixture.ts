// What tests of what is stored begin with: records as one batch.
import type { Invoice } from "../domain/invoice.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { Transaction } from "../domain/transaction.ts";
import { arrange } from "./arrange.ts";
import type { Column } from "./batch.ts";
import { INVOICE_COLUMNS } from "./invoices.ts";
import type { Packed } from "./packed.ts";
import { createPacker, pack } from "./packer.ts";
import { SUBSCRIPTION_COLUMNS } from "./subscriptions.ts";
import { TRANSACTION_COLUMNS } from "./transactions.ts";

const packed = <Row extends { id: string }>(columns: readonly Column<Row>[]) => {
  const packer = createPacker(columns);
  return (...rows: readonly Row[]): Packed<Row>[] => [pack(packer, rows)];
};

export const packInvoices = packed<Invoice>(INVOICE_COLUMNS);
export const packSubscriptions = packed<Subscription>(SUBSCRIPTION_COLUMNS);
export const packTransactions = packed<Transaction>(TRANSACTION_COLUMNS);
export const arrangeInvoices = (...rows: readonly Invoice[]) => arrange(packInvoices(...rows))[0]!;
