import { Agent, request } from "node:https";

export interface TransportRequest {
  method: "GET" | "POST" | "PUT";
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string | undefined;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

export interface TransportAnswer {
  status: number;
  /** Names are in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
}

/** Sends one request. Resolves with any status, rejects without an answer. Never retries. */
export interface Transport {
  send(request: TransportRequest): Promise<TransportAnswer>;
  /** Closes idle connections. */
  close(): void;
}

export interface HttpsTransportOptions {
  ca?: string | Buffer | undefined;
  connectionsMax?: number;
}

/** Far more than a page of 100 actions. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Creates an HTTPS transport with keep-alive connections.
 *
 * Not based on `fetch`, which cannot trust a custom CA on Node.
 *
 * @param ca  PEM of the CA to trust instead of the system's, such as Dunlin's `tls/ca.pem`
 */
export function httpsTransport({ ca, connectionsMax = 5 }: HttpsTransportOptions = {}): Transport {
  const agent = new Agent({ keepAlive: true, maxSockets: connectionsMax, ...(ca === undefined ? {} : { ca }) });
  return { send: (outgoingRequest) => send(agent, outgoingRequest), close: () => agent.destroy() };
}

function send(agent: Agent, outgoingRequest: TransportRequest): Promise<TransportAnswer> {
  return new Promise((resolve, reject) => {
    const body = outgoingRequest.body === undefined ? undefined : Buffer.from(outgoingRequest.body);
    const headers = {
      ...outgoingRequest.headers,
      ...(body === undefined ? {} : { "content-length": String(body.length) }),
    };
    const { method, signal } = outgoingRequest;
    const clientRequest = request(
      outgoingRequest.url,
      { method, headers, agent, ...(signal ? { signal } : {}) },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size > ANSWER_BYTES_MAX)
            clientRequest.destroy(new Error(`the answer is larger than ${ANSWER_BYTES_MAX} bytes`));
          else chunks.push(chunk);
        });
        response.on("error", reject);
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: flattenHeaders(response.headers),
            body: Buffer.concat(chunks).toString("utf8"),
          }),
        );
      },
    );
    // A socket's timeout would restart with every byte.
    const deadline = setTimeout(
      () => clientRequest.destroy(new Error(`no answer within ${outgoingRequest.timeoutMs} ms`)),
      outgoingRequest.timeoutMs,
    );
    clientRequest.on("close", () => {
      clearTimeout(deadline);
      reject(new Error("the connection was closed before the answer ended"));
    });
    clientRequest.on("error", reject);
    clientRequest.end(body);
  });
}

const flattenHeaders = (headers: NodeJS.Dict<string | string[]>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]));
