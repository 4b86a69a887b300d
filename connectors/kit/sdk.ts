/** Connectors use only Dunlin's public client and the receiver of its webhooks. */
export {
  type ClaimedEvent,
  type Client,
  createClient,
  createWebhookReceiver,
  DunlinError,
  type EventStore,
  type Invoice,
  nodeListener,
  type Subscription,
  type Transaction,
  type WebhookEvent,
  type WebhookReceiver,
} from "#sdk";
