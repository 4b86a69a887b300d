import { createHmac } from "node:crypto";
import type Stripe from "stripe";
import { keyedRandom } from "../../../simulator/world/keyed-random.ts";
import type { Account } from "./account.ts";

/** How unreliable webhooks are; shares from 0 to 1. */
export interface WebhookFaults {
  /** Never sent. */
  lost: number;
  /** Sent twice. */
  doubled: number;
  /** Delayed by up to `delaySeconds`, so that others overtake them. */
  late: number;
  delaySeconds: number;
}

export const NO_FAULTS: WebhookFaults = { lost: 0, doubled: 0, late: 0, delaySeconds: 0 };

/** Posts a body; resolves with the status, or rejects. */
export type PostWebhook = (url: string, headers: Record<string, string>, body: string) => Promise<number>;

export interface WebhookSender {
  send(event: Stripe.Event): void;
  /** Resolves when no request is under way. */
  idle(): Promise<void>;
}

const HOUR_S = 3_600;
/** Stripe goes on for three days. */
const RETRY_S = [60, 600, HOUR_S, 6 * HOUR_S, 24 * HOUR_S, 48 * HOUR_S, 72 * HOUR_S];

/** Sends each event to the endpoints that want it, signed with the endpoint's secret, until it is answered with 2xx. */
export function createWebhookSender(
  account: Account,
  { seed, faults, post }: { seed: number; faults: WebhookFaults; post: PostWebhook },
): WebhookSender {
  const underWay = new Set<Promise<unknown>>();

  function deliver(endpoint: Stripe.WebhookEndpoint, event: Stripe.Event, tries: number) {
    if (endpoint.status !== "enabled" || !account.find("webhook_endpoint", endpoint.id)) return;
    const body = JSON.stringify(event);
    const signature = signWebhook(endpoint.secret!, body, account.seconds());
    const headers = { "content-type": "application/json; charset=utf-8", "stripe-signature": signature };
    const sending: Promise<void> = post(endpoint.url, headers, body)
      .catch(() => 0)
      .then((status) => {
        const delay = RETRY_S[tries];
        if ((status < 200 || status >= 300) && delay !== undefined)
          account.at(account.seconds() + delay, null, () => deliver(endpoint, event, tries + 1));
      })
      .finally(() => underWay.delete(sending));
    underWay.add(sending);
  }

  return {
    send(event) {
      for (const endpoint of account.list<Stripe.WebhookEndpoint>("webhook_endpoint")) {
        if (!wants(endpoint, event.type)) continue;
        const draw = (what: string) => keyedRandom(seed, what, event.id, endpoint.id);
        if (draw("lost") < faults.lost) continue;
        const times = draw("doubled") < faults.doubled ? 2 : 1;
        for (let time = 0; time < times; time++) {
          const isLate = draw(`late ${time}`) < faults.late;
          const delay = isLate ? Math.ceil(draw(`delay ${time}`) * faults.delaySeconds) : 0;
          if (delay === 0) deliver(endpoint, event, 0);
          else account.at(account.seconds() + delay, null, () => deliver(endpoint, event, 0));
        }
      }
    },
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

const wants = ({ enabled_events: types }: Stripe.WebhookEndpoint, type: string) =>
  types.includes("*") || types.includes(type);

/** The header `Stripe-Signature` of a body, at a time in seconds. */
export const signWebhook = (secret: string, body: string, at: number): string =>
  `t=${at},v1=${createHmac("sha256", secret).update(`${at}.${body}`).digest("hex")}`;
