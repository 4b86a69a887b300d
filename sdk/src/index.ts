export { expressHandler } from "./adapters/express.ts";
export { type FastifyScope, fastifyPlugin } from "./adapters/fastify.ts";
export { honoHandler } from "./adapters/hono.ts";
export { nextRoute } from "./adapters/next.ts";
export { type NodeListener, nodeListener } from "./adapters/node.ts";
export type { AnalyticsFilter, AnalyticsRequests } from "./client/analytics.ts";
export type { AttentionRequests } from "./client/attention.ts";
export type { Attention } from "./client/attention-list.ts";
export { type Client, type ClientOptions, createClient } from "./client/client.ts";
export { DunlinError, type DunlinErrorKind } from "./client/dunlin-error.ts";
export type { Ingest, Ingested, IngestedBatch, IngestOptions, Records } from "./client/ingest.ts";
export type {
  Explanation,
  PostponeBody,
  PostponeReply,
  ReasonBody,
  RetryNowReply,
  StopReply,
} from "./client/invoice-requests.ts";
export type { Invoices } from "./client/invoices.ts";
export type { ErrorReply, IngestReply, Invoice, Subscription, Transaction } from "./client/records.ts";
export type {
  ListErrorReply,
  ListOtherErrorReply,
  ListParams,
  RecoveryAction,
  RecoveryActionPage,
} from "./client/recovery-action.ts";
export type { Listing, ReadOptions, RecoveryActions } from "./client/recovery-actions.ts";
export type { RecoveryBreakdown } from "./client/recovery-breakdown.ts";
export type {
  RecoveryRule,
  RecoveryRuleList,
  RecoveryRulesReply,
  RecoveryRulesTest,
  RuleTotal,
} from "./client/recovery-rule.ts";
export type { RecoveryRules } from "./client/recovery-rules.ts";
export type { RequestOptions } from "./client/request.ts";
export type { SyncOptions, SyncPage } from "./client/sync.ts";
export {
  type HttpsTransportOptions,
  httpsTransport,
  type Transport,
  type TransportAnswer,
  type TransportRequest,
} from "./client/transport.ts";
export type { FlatRetryRequest, WebhookErrorReply, WebhookReply } from "./webhooks/bodies.ts";
export type { WebhookCredential } from "./webhooks/credential.ts";
export { type ClaimedEvent, type EventStore, memoryEventStore } from "./webhooks/event-store.ts";
export {
  createWebhookReceiver,
  type ReceiverOptions,
  type WebhookExchange,
  type WebhookReceiver,
} from "./webhooks/receiver.ts";
export {
  type ActionSuggestion,
  type EndReason,
  parseWebhookEvent,
  type RecoveryActionEvent,
  type WebhookEvent,
} from "./webhooks/webhook-event.ts";
export { type SignedRequest, verifyWebhookSignature } from "./webhooks/webhook-signature.ts";
