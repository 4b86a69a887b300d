import type { Invoice, Subscription, Transaction } from "#sdk";

/**
 * Records that wait to be pushed, oldest first.
 *
 * Transactions are pushed before invoices: whoever sees an unpaid invoice should know already why it is unpaid.
 */
export interface Outbox {
  subscriptions: Subscription[];
  transactions: Transaction[];
  invoices: Invoice[];
}

export const emptyOutbox = (): Outbox => ({ subscriptions: [], transactions: [], invoices: [] });

export const isEmpty = ({ subscriptions, transactions, invoices }: Outbox) =>
  subscriptions.length + transactions.length + invoices.length === 0;
