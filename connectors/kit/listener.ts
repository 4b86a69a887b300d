import type { IncomingMessage, ServerResponse } from "node:http";
import { type OptOutLinks, optOutPage } from "./messages/opt-out.ts";
import { nodeListener, type WebhookReceiver } from "./sdk.ts";

export interface ListenerOptions {
  /** Takes Dunlin's webhooks at `/dunlin`. */
  dunlinReceiver: WebhookReceiver;
  /** Such as `/stripe`. */
  providerPath: string;
  /** Takes the provider's webhooks. Returns the HTTP status; a rejection is answered with 500, so that it is sent again. */
  receiveFromProvider(body: string, headers: IncomingMessage["headers"]): Promise<number>;
  /** Null: there are no mails to end. */
  optOut: { links: OptOutLinks; record(customerId: string): Promise<void> } | null;
  onError(error: unknown): void;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const BODY_BYTES_MAX = 1024 * 1024;

/** Answers both sides and, for the end of mails, customers. */
export function createConnectorListener(options: ListenerOptions): Handler {
  const toDunlinReceiver = nodeListener(options.dunlinReceiver);
  return (request, response) => {
    const path = request.url?.split("?", 1)[0] ?? "";
    if (path === "/dunlin" || path.startsWith("/dunlin/")) return toDunlinReceiver(request, response);
    const work =
      path === options.providerPath && request.method === "POST"
        ? answerProvider(options, request, response)
        : path.startsWith("/unsubscribe/")
          ? answerCustomer(options, path, request, response)
          : Promise.resolve(response.writeHead(404).end());
    work.catch((error) => {
      options.onError(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  };
}

async function answerProvider(options: ListenerOptions, request: IncomingMessage, response: ServerResponse) {
  const body = await readBody(request);
  response.writeHead(body === null ? 413 : await options.receiveFromProvider(body, request.headers)).end();
}

/** Null: too long. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** GET shows a button, because mail programs open links by themselves; POST is the button, or a mail program's own one. */
async function answerCustomer(
  { optOut }: ListenerOptions,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const customerId = optOut?.links.read(path) ?? null;
  if (customerId === null || (request.method !== "GET" && request.method !== "POST"))
    return void response.writeHead(404, { "content-type": "text/plain" }).end("This link is not valid.\n");
  if (request.method === "POST") await optOut!.record(customerId);
  request.resume();
  response
    .writeHead(200, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
      "referrer-policy": "no-referrer",
    })
    .end(optOutPage(request.method === "POST"));
}
