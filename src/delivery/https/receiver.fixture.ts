import { once } from "node:events";
import type { ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import tls from "node:tls";
import { type CertifiedIdentity, createSelfSignedCertificate } from "../../../test/self-signed-certificate.ts";
import { parseAllowList } from "./address-guard.ts";

let identity: Promise<CertifiedIdentity> | undefined;

export function localIdentity(): Promise<CertifiedIdentity> {
  identity ??= createSelfSignedCertificate();
  return identity;
}

export interface Receiver {
  origin: string;
  port: number;
  /** PEM of the authority to trust. */
  ca: string;
  allow: ReturnType<typeof parseAllowList>;
  connections(): number;
  setCertificate(id: CertifiedIdentity): void;
  close(): Promise<void>;
}

/** Starts a merchant's endpoint: a real HTTPS server on 127.0.0.1. */
export async function startReceiver(onRequest: (request: Request, reply: ServerResponse) => void) {
  const id = await localIdentity();
  const server = https.createServer({ ...id, keepAliveTimeout: 60_000 }, (message, reply) => {
    const chunks: Buffer[] = [];
    message.on("data", (chunk: Buffer) => chunks.push(chunk));
    message.on("end", () =>
      onRequest({ path: message.url ?? "", headers: message.headers, body: Buffer.concat(chunks).toString() }, reply),
    );
  });
  return startListening(server, id.cert);
}

export interface Request {
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** Starts an endpoint that sends exactly what `onRequest` writes when a request is complete. */
export async function startRawReceiver(
  onRequest: (socket: tls.TLSSocket, body: string, reset: () => void) => void,
  id?: CertifiedIdentity,
): Promise<Receiver> {
  const certified = id ?? (await localIdentity());
  // Only the TCP socket under a TLS socket can send RST.
  const tcpSockets = new Map<number | undefined, Socket>();
  const server = tls.createServer(certified, (socket) => {
    const reset = () => tcpSockets.get(socket.remotePort)?.resetAndDestroy();
    let text = "";
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      for (;;) {
        const head = text.indexOf("\r\n\r\n");
        const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
        if (head < 0 || text.length < head + 4 + length) return;
        const body = text.slice(head + 4, head + 4 + length);
        text = text.slice(head + 4 + length);
        onRequest(socket, body, reset);
      }
    });
  });
  server.on("connection", (socket: Socket) => tcpSockets.set(socket.remotePort, socket));
  return startListening(server, certified.cert);
}

async function startListening(server: tls.Server, ca: string): Promise<Receiver> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  server.on("connection", (socket: Socket) => {
    accepted++;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    origin: `https://127.0.0.1:${port}`,
    port,
    ca,
    allow: parseAllowList(`127.0.0.1/32:${port}`),
    connections: () => accepted,
    setCertificate: (id) => server.setSecureContext(id),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
