import type { IncomingMessage, ServerResponse } from "node:http";
import type { WebhookReceiver } from "../webhooks/receiver.ts";
import { refusalResponse } from "../webhooks/refusal.ts";
import { answerNode, nodeListener, writeAnswer } from "./node.ts";

type ExpressRequest = IncomingMessage & { body?: unknown };

/**
 * For `app.post("/dunlin", expressHandler(receiver))`, preferably before any body parser.
 *
 * Uses the bytes that `express.raw()` read. After `express.json()` it serializes the parsed body again, but answers 500 if
 * signatures are verified, because the original bytes are lost.
 */
export function expressHandler(receiver: WebhookReceiver) {
  const listener = nodeListener(receiver);
  return (request: ExpressRequest, response: ServerResponse): void => {
    if (request.readableDidRead) answerParsed(receiver, request, response).catch(() => response.destroy());
    else listener(request, response);
  };
}

async function answerParsed(receiver: WebhookReceiver, request: ExpressRequest, response: ServerResponse) {
  const body = bodyOf(request.body, receiver.signed);
  if (body !== null) return answerNode(receiver, request, response, body);
  return writeAnswer(request, response, refusalResponse({ status: 500, message: PARSED_BODY_MESSAGE }));
}

const PARSED_BODY_MESSAGE =
  "the body was parsed before its signature could be checked: put the webhook handler before express.json()";

/** null if the original bytes are needed and lost. */
function bodyOf(body: unknown, signed: boolean): Uint8Array | string | null {
  if (body instanceof Uint8Array || typeof body === "string") return body;
  return signed ? null : JSON.stringify(body ?? null);
}
