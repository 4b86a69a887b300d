import { setTimeout as sleep } from "node:timers/promises";
import type Stripe from "stripe";
import { createApiKey } from "../../src/auth/api-keys.ts";
import { PERMISSIONS } from "../../src/domain/permission.ts";
import { BEARER, type Shop, type ShopOptions } from "../../test/contract/contract-shop.ts";
import type { Service } from "../../test/contract/running-service.ts";
import { type Client, createClient } from "../kit/sdk.ts";
import { type ConnectorStore, createConnectorStore } from "../kit/store.ts";
import { type ConnectorOptions, createStripeClient, createStripeConnector, type StripeConnector } from "./connector.ts";
import { type DoubleOptions, type StripeDouble, startStripeDouble } from "./double/double-server.ts";
import { API_VERSION } from "./stripe-account.ts";

const SECRET = "sk_test_double";

export interface ConnectedShop {
  shop: Shop;
  double: StripeDouble;
  stripe: Stripe;
  store: ConnectorStore;
  /** On invoices that Dunlin handles. */
  mark: string;
  connector: StripeConnector;
  dunlin: Client;
  /** Lets all parts work until something holds. */
  until(holds: () => Promise<unknown>, what: string, limitMs?: number): Promise<void>;
  close(): Promise<void>;
}

/** Connects a shop of the running service to a double of Stripe, as `dunlin connect stripe` does. */
export async function connectShop(
  service: Service,
  {
    askBank,
    settings = {},
    over = {},
    retryDays,
  }: Pick<DoubleOptions, "askBank" | "retryDays"> & {
    settings?: ShopOptions;
    over?: Partial<ConnectorOptions>;
  },
): Promise<ConnectedShop> {
  const double = await startStripeDouble({
    ...{
      now: service.now,
      clockRate: service.store.ports.clockRate,
      realNow: service.store.ports.realNow,
      apiVersion: API_VERSION,
      keys: [{ secret: SECRET, scopes: null }],
      askBank,
    },
    ...{ monotonicMs: () => performance.now(), perSecond: 10_000 },
    ...(retryDays && { retryDays }),
  });
  let connector: StripeConnector | undefined;
  const shop = await service.shop({
    sendsRecoveryEnded: true,
    ...settings,
    answer: async ({ bytes, headers, path }, response) => {
      const request = new Request(`https://connector.example${path}`, {
        method: "POST",
        headers: { authorization: headers.authorization!, "content-type": "application/json" },
        body: new Uint8Array(bytes),
      });
      const reply = await connector!.dunlinReceiver.receive(request);
      response.writeHead(reply.status).end(await reply.text());
    },
  });
  const { db, ports } = service.store;
  const key = { merchantId: shop.id, permissions: PERMISSIONS, integrationType: "STRIPE" } as const;
  const { apiKey } = await createApiKey(db, key, ports);
  const dunlin = createClient({ baseUrl: service.baseUrl, apiKey, ca: service.ca });
  const mark = `dunlin-${shop.id}`;
  const store = createConnectorStore(db, { merchantId: shop.id, connection: "stripe" });
  const stripe = createStripeClient(SECRET, new URL(double.url));
  connector = createStripeConnector({
    ...{ stripe, isLive: false, webhookSecrets: [], dunlin, dunlinToken: BEARER, store, mark },
    ...{ clockRate: service.store.ports.clockRate, realNow: service.store.ports.realNow },
    ...{ completeDunning: "give_back", callsPerSecond: 5_000, now: service.now, nowMs: () => performance.now(), sleep },
    log: () => {},
    ...over,
  });
  const running = connector;
  return {
    ...{ shop, double, stripe, store, mark, connector, dunlin },
    async until(holds, what, limitMs = 60_000) {
      for (const deadline = performance.now() + limitMs; ; await sleep(20)) {
        await double.runDue();
        await running.pollEvents();
        await running.drainHints();
        await running.executeDue();
        await running.releaseEnded();
        if (await holds()) return;
        if (performance.now() > deadline) throw new Error(`${what} did not happen within ${limitMs} ms`);
      }
    },
    async close() {
      await running.stop();
      dunlin.close();
      await double.close();
    },
  };
}
