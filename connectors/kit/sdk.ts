/** Connectors use only Dunlin's public client and the receiver of its webhooks. */
export {
  type Client,
  createClient,
  createWebhookReceiver,
  DunlinError,
  type Invoice,
  nodeListener,
  type Subscription,
  type Transaction,
  type WebhookEvent,
  type WebhookReceiver,
} from "#sdk";
