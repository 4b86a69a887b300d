import type { IncomingMessage, ServerResponse } from "node:http";
import type { WebhookReceiver } from "../webhooks/receiver.ts";

export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void;

/** For `https.createServer(nodeListener(receiver))`. */
export function nodeListener(receiver: WebhookReceiver): NodeListener {
  return (request, response) => {
    readBody(request, receiver.bodyLimit)
      .then((body) => answerNode(receiver, request, response, body))
      // A caller that went away in the middle of its body, or whose request the web has no words for (TRACE), hears nothing.
      .catch(() => response.destroy());
  };
}

/** Answers a request whose body is known already. */
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
  // Without the close, the rest of a body that was cut short would have to be read before the next request.
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
  // Only the path counts; whose host it is, the certificate has shown.
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(new URL(`https://localhost${path}`), { method, headers, ...(hasBody ? { body } : {}) });
}

/** The body, of one that is larger than `limit` the beginning, with a byte too many. */
function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Not `for await`: leaving such a loop early destroys the socket, and with it the answer.
  return new Promise((resolve, reject) => {
    const whole = () => resolve(Buffer.concat(chunks));
    request.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= limit) return;
      request.pause();
      whole();
    });
    request.on("end", whole);
    request.on("error", reject);
  });
}
