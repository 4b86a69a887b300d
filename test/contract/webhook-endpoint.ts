import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { startHttpsServer } from "../../sdk/test/https-server.ts";

/** One received request of the service. */
export interface ReceivedWebhook {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  /** The parsed body. */
  json: Record<string, unknown>;
  /** Monotonic real milliseconds. */
  atMs: number;
}

/** How a merchant answers a request; `earlier` counts earlier requests with the same bytes. */
export type AnswerWebhook = (request: ReceivedWebhook, response: ServerResponse, earlier: number) => void;

/** A merchant's part of the endpoint. */
export interface EndpointRoute {
  url: string;
  received: ReceivedWebhook[];
  answer: AnswerWebhook;
}

/** Answers only with this status. */
export const answerInOrder =
  (status: number, body = ""): AnswerWebhook =>
  (_request, response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  };

/** Starts an HTTPS server with a separate path for each merchant. */
export async function startWebhookEndpoint() {
  const hooks = new Map<string, EndpointRoute>();
  const server = await startHttpsServer((message, response) => {
    const chunks: Buffer[] = [];
    response.on("error", () => {});
    message.on("data", (chunk: Buffer) => chunks.push(chunk));
    message.on("end", () => {
      const path = message.url ?? "";
      const hook = hooks.get(path.split("/")[1] ?? "");
      if (!hook) return response.writeHead(404).end();
      const bytes = Buffer.concat(chunks);
      const earlier = hook.received.filter((other) => other.bytes.equals(bytes)).length;
      const json = JSON.parse(bytes.toString("utf8")) as Record<string, unknown>;
      const { method = "", headers } = message;
      const request = { method, path, headers, bytes, json, atMs: performance.now() };
      hook.received.push(request);
      hook.answer(request, response, earlier);
    });
  });
  return {
    port: Number(new URL(server.url).port),
    ca: server.ca,
    close: server.close,
    hook(answer: AnswerWebhook): EndpointRoute {
      const name = `shop-${hooks.size + 1}`;
      const hook = { url: `${server.url}/${name}`, received: [], answer };
      hooks.set(name, hook);
      return hook;
    },
  };
}
