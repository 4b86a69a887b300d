import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createApiKey } from "../../src/auth/api-keys.ts";
import type { EventType } from "../../src/domain/event.ts";
import { PERMISSIONS, type Permission } from "../../src/domain/permission.ts";
import { createMerchant, type MerchantSettings } from "../../src/merchants/merchant-settings.ts";
import type { Store } from "../../src/process/open-store.ts";
import { type LoggedAttempt, listAttemptsOfEvent } from "../../src/tables/delivery-attempts.ts";
import { type ListedDelivery, listDeliveries } from "../../src/tables/delivery-states.ts";
import type { ApiCall, ApiReply } from "./api-caller.ts";
import { type Fields, invoice, subscription, transaction } from "./contract-records.ts";
import {
  type AnswerWebhook,
  answerInOrder,
  type EndpointRoute,
  type ReceivedWebhook,
  type startWebhookEndpoint,
} from "./webhook-endpoint.ts";

export interface ShopOptions extends MerchantSettings {
  answer?: AnswerWebhook;
  /** False: only the inbound API is used, and no webhook is ever sent. */
  endpoint?: boolean;
}

/** One merchant with its calls and its received webhooks. */
export interface Shop {
  id: string;
  apiKey: string;
  hook: EndpointRoute;
  received: ReceivedWebhook[];
  /** Creates another key. */
  key(permissions: readonly Permission[], expiresAt?: Date): Promise<string>;
  call(call: ApiCall): Promise<ApiReply>;
  post(kind: Kind, records: unknown): Promise<ApiReply>;
  /** As `post`, but fails unless the service accepts the records. */
  push(kind: Kind, ...records: Fields[]): Promise<void>;
  list(query?: Record<string, string | number>): Promise<ApiReply>;
  /** Returns the actions of a listing, which must succeed. */
  actions(query?: Record<string, string | number>): Promise<Fields[]>;
  /** Returns the delivery log's entries about an invoice's events. */
  deliveries(type?: EventType, invoiceId?: unknown): Promise<ListedDelivery[]>;
  /** Returns the requests that carried this type of event, as an envelope. */
  events(type: EventType): ReceivedWebhook[];
  attempts(eventId: string): Promise<LoggedAttempt[]>;
  /** Makers of records, dated now in service time. */
  subscription(over?: Fields): Fields;
  invoice(over?: Fields): Fields;
  transaction(of: Fields, over?: Fields): Fields;
  now(): Date;
}

export type Kind = "subscriptions" | "invoices" | "transactions";

/** The whole window lies within the lead, so an instruction is decided and sent as soon as its invoice is unpaid. */
const IMMEDIATE_SETTINGS = { windowDays: 1, leadMs: 86_400_000 };
/** The deliverer notices a new merchant within this long. After the wait, a test measures only the service. */
const SETTINGS_NOTICED_MS = 1_200;

export const BEARER = "a-webhook-token";

export async function openShop(
  { db, ports, secretKeys }: Store,
  endpoint: Awaited<ReturnType<typeof startWebhookEndpoint>>,
  send: (call: ApiCall) => Promise<ApiReply>,
  { answer = answerInOrder(200), endpoint: hooked = true, ...settings }: ShopOptions = {},
): Promise<Shop> {
  const hook = endpoint.hook(answer);
  const merchant = await createMerchant(
    db,
    "Harbor Coffee",
    {
      ...IMMEDIATE_SETTINGS,
      ...(hooked && { webhookUrl: hook.url, credential: { auth: "bearer", secret: BEARER } }),
      ...settings,
    },
    secretKeys,
    ports,
  );
  const key = async (permissions: readonly Permission[], expiresAt?: Date) =>
    (await createApiKey(db, { merchantId: merchant.id, permissions, expiresAt }, ports)).apiKey;
  const apiKey = await key(PERMISSIONS);
  if (hooked) await sleep(SETTINGS_NOTICED_MS);

  const call = ({ headers, ...rest }: ApiCall) =>
    send({ ...rest, headers: { authorization: `Bearer ${apiKey}`, ...headers } });
  const post = (kind: Kind, records: unknown) =>
    call({
      method: "POST",
      path: `/ingest/v1/${kind}`,
      headers: { "content-type": "application/json" },
      body: { [kind]: records },
    });
  const list = (query: Record<string, string | number> = {}) => {
    const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    return call({ path: `/v1/recovery_actions?${search}` });
  };
  return {
    id: merchant.id,
    apiKey,
    hook,
    received: hook.received,
    key,
    call,
    post,
    async push(kind, ...records) {
      const { status, text } = await post(kind, records);
      assert.equal(status, 200, text);
    },
    list,
    async actions(query) {
      const { status, text, json } = await list(query);
      assert.equal(status, 200, text);
      return json.recoveryActions as Fields[];
    },
    deliveries: (type, invoiceId) =>
      listDeliveries(db, merchant.id, { type, invoiceId: invoiceId as string | undefined, limit: 100 }),
    events: (type) => hook.received.filter(({ json }) => json.type === type),
    attempts: (eventId) => listAttemptsOfEvent(db, merchant.id, eventId),
    subscription: (over) => subscription(ports.now(), over),
    invoice: (over) => invoice(ports.now(), over),
    transaction: (of, over) => transaction(ports.now(), of, over),
    now: ports.now,
  };
}
