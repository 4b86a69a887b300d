import { Agent, request } from "node:https";

export interface TransportRequest {
  method: "GET" | "POST";
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string | undefined;
  timeoutMs: number;
  /** Cuts the request off. */
  signal?: AbortSignal | undefined;
}

export interface TransportAnswer {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
}

/** Sends one request and gives its answer, whatever the status; rejects when there is none. Never repeats by itself. */
export interface Transport {
  send(request: TransportRequest): Promise<TransportAnswer>;
  /** Lets idle connections go. */
  close(): void;
}

export interface HttpsTransportOptions {
  ca?: string | Buffer | undefined;
  connectionsMax?: number;
}

/** A page of 100 actions is about 100 KB; anything near this size is not from Dunlin. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/**
 * HTTPS with connections that are kept alive.
 *
 * Not by the web's `fetch`: on Node it cannot be told to trust an authority of one's own.
 *
 * @param ca  PEM of the authority to trust in place of the system's, such as Dunlin's own `tls/ca.pem`
 */
export function httpsTransport({ ca, connectionsMax = 5 }: HttpsTransportOptions = {}): Transport {
  const agent = new Agent({ keepAlive: true, maxSockets: connectionsMax, ...(ca === undefined ? {} : { ca }) });
  return { send: (wanted) => send(agent, wanted), close: () => agent.destroy() };
}

function send(agent: Agent, wanted: TransportRequest): Promise<TransportAnswer> {
  return new Promise((resolve, reject) => {
    const body = wanted.body === undefined ? undefined : Buffer.from(wanted.body);
    const headers = { ...wanted.headers, ...(body === undefined ? {} : { "content-length": String(body.length) }) };
    const { method, signal } = wanted;
    const outgoing = request(wanted.url, { method, headers, agent, ...(signal ? { signal } : {}) }, (incoming) => {
      const chunks: Buffer[] = [];
      let size = 0;
      incoming.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > ANSWER_BYTES_MAX) outgoing.destroy(new Error(`the answer is larger than ${ANSWER_BYTES_MAX} bytes`));
        else chunks.push(chunk);
      });
      incoming.on("error", reject);
      incoming.on("end", () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: flattenHeaders(incoming.headers),
          body: Buffer.concat(chunks).toString("utf8"),
        }),
      );
    });
    // One deadline for the whole exchange: a socket's own time-out starts anew with every byte.
    const deadline = setTimeout(
      () => outgoing.destroy(new Error(`no answer within ${wanted.timeoutMs} ms`)),
      wanted.timeoutMs,
    );
    outgoing.on("close", () => {
      clearTimeout(deadline);
      reject(new Error("the connection was closed before the answer ended"));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

const flattenHeaders = (headers: NodeJS.Dict<string | string[]>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]));
