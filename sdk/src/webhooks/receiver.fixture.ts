import { request } from "node:https";
import type { TestContext } from "node:test";
import { startHttpsServer } from "../../test/https-server.ts";
import { nodeListener } from "../adapters/node.ts";
import { createWebhookReceiver, type ReceiverOptions, type WebhookExchange } from "./receiver.ts";
import type { WebhookEvent } from "./webhook-event.ts";

export const RETRY_EVENT = {
  id: "0190-a",
  type: "recovery_action",
  created: "2026-03-04T09:12:00.000Z",
  data: {
    invoiceId: "inv_1",
    subscriptionId: "sub_1",
    actionSuggestion: "ACTION_SUGGESTION_RETRY",
    idealRetryTime: "2026-03-06T09:10:00.000Z",
  },
};

interface Reply {
  status: number;
  body: Record<string, unknown>;
  headers: NodeJS.Dict<string | string[]>;
}
interface SentRequest {
  method?: string;
  path?: string;
  headers?: Record<string, string | string[]>;
}

/** A receiver behind HTTPS, and its handled events and callbacks. */
export async function startTestReceiver(t: TestContext, options: Partial<ReceiverOptions> = {}) {
  const handled: WebhookEvent[] = [];
  const exchanges: WebhookExchange[] = [];
  const errors: unknown[] = [];
  const made = createWebhookReceiver({
    auth: { bearer: "hook-token" },
    handle: (event) => void handled.push(event),
    onExchange: (exchange) => exchanges.push(exchange),
    onError: (error) => errors.push(error),
    ...options,
  });
  const server = await startHttpsServer(nodeListener(made));
  t.after(async () => {
    await server.close();
    await made.stop();
  });
  const post = (body: unknown, { method = "POST", path = "/hooks", headers = {} }: SentRequest = {}) =>
    new Promise<Reply>((resolve, reject) => {
      const all = { authorization: "Bearer hook-token", "content-type": "application/json", ...headers };
      const outgoing = request(server.url + path, { method, ca: server.ca, headers: all }, (incoming) => {
        let text = "";
        incoming.on("data", (chunk) => {
          text += chunk;
        });
        incoming.on("end", () =>
          resolve({ status: incoming.statusCode!, body: JSON.parse(text), headers: incoming.headers }),
        );
      });
      outgoing.on("error", reject);
      outgoing.end(typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));
    });
  return { post, handled, exchanges, errors, url: server.url, ca: server.ca, stop: () => made.stop() };
}

export const waitUntilSettled = () => new Promise((resolve) => setTimeout(resolve, 10));
