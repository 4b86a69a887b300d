import type { Invoice, Subscription, Transaction } from "#sdk";

/** Records to push, oldest first. Transactions go before invoices, so that an unpaid invoice's cause is known before it. */
export interface PushQueue {
  subscriptions: Subscription[];
  transactions: Transaction[];
  invoices: Invoice[];
}

export const createPushQueue = (): PushQueue => ({ subscriptions: [], transactions: [], invoices: [] });

export const isQueueEmpty = ({ subscriptions, transactions, invoices }: PushQueue) =>
  subscriptions.length + transactions.length + invoices.length === 0;
