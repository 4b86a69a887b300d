import { Agent, request } from "node:https";
import type Stripe from "stripe";
import { EVENT_TYPES } from "../../../connectors/stripe/changed-objects.ts";
import { type StripeDouble, startStripeDouble } from "../../../connectors/stripe/double/double-server.ts";
import { createShop, type Shop } from "../../../connectors/stripe/double/shop.ts";
import type { WebhookFaults } from "../../../connectors/stripe/double/webhook-sender.ts";
import { createWorldBank } from "../../../connectors/stripe/double/world-bank.ts";
import { API_VERSION } from "../../../connectors/stripe/stripe-account.ts";

export interface SimulatedAccount {
  double: StripeDouble;
  shop: Shop;
  endpoint: Stripe.WebhookEndpoint;
  startAt: Date;
  /** Stops the account's clock: no renewals and no retries of its own any more. */
  freeze(): Date;
}

export const SCOPES = [
  ...["invoice_read", "invoice_write", "charge_read", "subscription_read", "customer_read", "payment_method_read"],
  ...["dispute_read", "event_read"],
];
export const STRIPE_KEY = "rk_test_campaign";
const MINUTE_S = 60;

/** The double with customers of a world, which bill from now on. */
export async function startSimulatedAccount({
  seed,
  customers,
  now,
  perSecond,
  webhooks,
}: {
  seed: number;
  customers: number;
  now(): Date;
  perSecond: number;
  webhooks: { url: string; ca: string; secret: string; faults: WebhookFaults };
}): Promise<SimulatedAccount> {
  const bank = createWorldBank();
  let frozenAt: Date | null = null;
  const double = await startStripeDouble({
    ...{ now: () => frozenAt ?? now(), apiVersion: API_VERSION, askBank: bank.askBank, perSecond },
    keys: [{ secret: STRIPE_KEY, scopes: new Set(SCOPES) }],
    monotonicMs: () => performance.now(),
    webhooks: { seed, faults: webhooks.faults, post: createPoster(webhooks.ca) },
  });
  const { account, billing } = double;
  const endpoint = account.add({
    ...{ id: account.newId("we"), object: "webhook_endpoint", api_version: API_VERSION, application: null },
    ...{
      created: account.seconds(),
      description: null,
      metadata: {},
      enabled_events: [...EVENT_TYPES],
      livemode: false,
    },
    ...{ secret: webhooks.secret, status: "enabled", url: webhooks.url },
  } as Stripe.WebhookEndpoint);
  const startAt = new Date(Math.ceil((account.seconds() + MINUTE_S) / MINUTE_S) * MINUTE_S * 1_000);
  const shop = createShop({ account, billing, bank, seed, customers, startAt, accountMails: true });
  double.observe(shop.onEvent);
  return {
    double,
    shop,
    endpoint,
    startAt,
    freeze() {
      frozenAt = now();
      return frozenAt;
    },
  };
}

/** Posts to this machine; a lost answer is a rejection. */
function createPoster(ca: string) {
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 30, timeout: 5_000 });
  return (url: string, headers: Record<string, string>, body: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const posting = request(url, { method: "POST", headers, agent, timeout: 5_000 }, (reply) => {
        reply.resume();
        reply.on("end", () => resolve(reply.statusCode ?? 0));
        reply.on("error", reject);
      });
      posting.on("timeout", () => posting.destroy(new Error("no answer")));
      posting.on("error", reject);
      posting.end(body);
    });
}
