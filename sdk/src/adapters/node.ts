import type { IncomingMessage, ServerResponse } from "node:http";
import type { WebhookReceiver } from "../webhooks/receiver.ts";

export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void;

/** For `https.createServer(nodeListener(receiver))`. */
export function nodeListener(receiver: WebhookReceiver): NodeListener {
  return (request, response) => {
    readBody(request, receiver.bodyLimit)
      .then((body) => answerNode(receiver, request, response, body))
      // The client disconnected, or the web API does not support the method (TRACE).
      .catch(() => response.destroy());
  };
}

export async function answerNode(
  receiver: WebhookReceiver,
  request: IncomingMessage,
  response: ServerResponse,
  body: Uint8Array | string,
): Promise<void> {
  await writeAnswer(request, response, await receiver.receive(webRequest(request, body)));
}

export async function writeAnswer(request: IncomingMessage, response: ServerResponse, answer: Response): Promise<void> {
  const headers = Object.fromEntries(answer.headers);
  const text = await answer.text();
  // Otherwise, the unread body would have to be read before the next request.
  if (!request.complete) headers.connection = "close";
  response.writeHead(answer.status, { ...headers, "content-length": Buffer.byteLength(text) });
  response.end(text);
}

function webRequest(request: IncomingMessage, body: Uint8Array | string): Request {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(request.headersDistinct))
    for (const value of values) headers.append(name, value);
  const method = request.method ?? "GET";
  const path = request.url?.startsWith("/") ? request.url : "/";
  // Only the path matters; the certificate has authenticated the host.
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(new URL(`https://localhost${path}`), { method, headers, ...(hasBody ? { body } : {}) });
}

/** Stops after the chunk that exceeds `limit`. */
function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving a `for await` loop early would destroy the socket and lose the answer.
  return new Promise((resolve, reject) => {
    const finish = () => resolve(Buffer.concat(chunks));
    request.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= limit) return;
      request.pause();
      finish();
    });
    request.on("end", finish);
    request.on("error", reject);
  });
}
