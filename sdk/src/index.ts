/** The entry of the package `@dunlin/sdk`: everything here is public, everything else is not. */
export { type Client, type ClientOptions, createClient } from "./client.ts";
export { DunlinError } from "./dunlin-error.ts";
export { createWebhookReceiver, type ReceiverOptions, type WebhookExchange } from "./receiver.ts";
export type {
  Invoice,
  InvoiceState,
  ListParams,
  RecoveryAction,
  RecoveryActionPage,
  Subscription,
  SubscriptionState,
  Transaction,
  TransactionState,
} from "./records.ts";
export { createSeenEvents, type SeenEvents } from "./seen-events.ts";
export { httpsTransport, type Transport, type TransportAnswer, type TransportRequest } from "./transport.ts";
export type { WebhookCredential } from "./webhook-credential.ts";
export { type ActionSuggestion, parseWebhookEvent, type WebhookEvent } from "./webhook-event.ts";
export { type SignedRequest, verifyWebhookSignature } from "./webhook-signature.ts";
