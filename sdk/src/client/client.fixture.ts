import type { IncomingMessage, ServerResponse } from "node:http";
import type { TestContext } from "node:test";
import { startHttpsServer } from "../../test/https-server.ts";
import { type ClientOptions, createClient } from "./client.ts";
import type { Invoice } from "./records.ts";

export interface ReceivedRequest {
  method: string;
  url: string;
  authorization: string;
  body: string;
}
export type AnswerRequest = (received: ReceivedRequest, response: ServerResponse, count: number) => void;

/** Creates a client of a server that gives these answers. `delays` collects the delays between attempts, without waiting. */
export async function createTestClient(t: TestContext, answer: AnswerRequest, options: Partial<ClientOptions> = {}) {
  const requests: ReceivedRequest[] = [];
  const delays: number[] = [];
  const server = await startHttpsServer(async (request: IncomingMessage, response: ServerResponse) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { method = "", url = "", headers } = request;
    requests.push({ method, url, authorization: headers.authorization ?? "", body });
    answer(requests.at(-1)!, response, requests.length);
  });
  const sleep = async (ms: number) => void delays.push(ms);
  const defaults = { baseUrl: server.url, apiKey: "dln_live_key", ca: server.ca, sleep, jitter: () => 0 };
  const client = createClient({ ...defaults, ...options });
  t.after(async () => {
    client.close();
    await server.close();
  });
  return { client, requests, delays, server };
}

export const sendJson = (
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
) => response.writeHead(status, { ...headers, "content-type": "application/json" }).end(JSON.stringify(body));

export const acceptedAnswer: AnswerRequest = (_, response, count) =>
  void sendJson(response, 200, { requestId: `r${count}` });

export const invoice = (n: number): Invoice => ({
  id: `inv_${n}`,
  state: "INVOICE_STATE_UNPAID",
  customerId: "cus_1",
  amount: 4900,
  currency: "EUR",
  createdAt: "2026-03-04T09:12:00.000Z",
});
export const invoices = (count: number) => Array.from({ length: count }, (_, n) => invoice(n));
