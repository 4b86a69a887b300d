/** The entry of the package `@dunlin/sdk`: everything here is public, everything else is not. */
export { type Client, type ClientOptions, createClient } from "./client/client.ts";
export { DunlinError, type DunlinErrorKind } from "./client/dunlin-error.ts";
export type { Ingest, Ingested, IngestedBatch, IngestOptions, Records } from "./client/ingest.ts";
export type { ErrorReply, IngestReply, Invoice, Subscription, Transaction } from "./client/records.ts";
export type { ListErrorReply, ListParams, RecoveryAction, RecoveryActionPage } from "./client/recovery-action.ts";
export type { Listing, ReadOptions, RecoveryActions } from "./client/recovery-actions.ts";
export type { RequestOptions } from "./client/request.ts";
export type { SyncOptions, SyncPage } from "./client/sync.ts";
export {
  type HttpsTransportOptions,
  httpsTransport,
  type Transport,
  type TransportAnswer,
  type TransportRequest,
} from "./client/transport.ts";
export { createWebhookReceiver, type ReceiverOptions, type WebhookExchange } from "./webhooks/receiver.ts";
export { createSeenEvents, type SeenEvents } from "./webhooks/seen-events.ts";
export type { WebhookCredential } from "./webhooks/webhook-credential.ts";
export { type ActionSuggestion, parseWebhookEvent, type WebhookEvent } from "./webhooks/webhook-event.ts";
export { type SignedRequest, verifyWebhookSignature } from "./webhooks/webhook-signature.ts";
