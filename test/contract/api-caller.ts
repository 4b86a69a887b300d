import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import https from "node:https";

export interface ApiCall {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  /** Objects are sent as JSON, text and bytes unchanged. */
  body?: object | string | Buffer;
}

export interface ApiReply {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  json: Record<string, unknown>;
}

/** Creates a client for HTTPS calls to one base URL, whose certificate must be signed by this authority. */
export function createCaller(baseUrl: string, ca: string) {
  const agent = new https.Agent({ ca, keepAlive: true, maxSockets: 10 });

  async function call({ method = "GET", path, headers = {}, body }: ApiCall): Promise<ApiReply> {
    const bytes = body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(textOf(body));
    const length = bytes === undefined ? {} : { "content-length": String(bytes.length) };
    const request = https.request(baseUrl + path, { agent, method, headers: { ...length, ...headers } });
    request.end(bytes);
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    return { status: response.statusCode ?? 0, headers: response.headers, text, json: objectOf(text) };
  }

  return { call, close: () => agent.destroy() };
}

const textOf = (body: object | string) => (typeof body === "string" ? body : JSON.stringify(body));

function objectOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
