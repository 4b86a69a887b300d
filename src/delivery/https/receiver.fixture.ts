import { once } from "node:events";
import type { ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import tls from "node:tls";
import { type CertifiedIdentity, createSelfSignedCertificate } from "../../../test/self-signed-certificate.ts";
import { parseAllowList } from "./address-guard.ts";

let identity: Promise<CertifiedIdentity> | undefined;

/** One self-signed certificate for the receivers of this process. */
export function localIdentity(): Promise<CertifiedIdentity> {
  identity ??= createSelfSignedCertificate();
  return identity;
}

export interface Receiver {
  origin: string;
  port: number;
  /** PEM to trust. */
  ca: string;
  allow: ReturnType<typeof parseAllowList>;
  /** Connections accepted so far. */
  connections(): number;
  /** From the next connection on, another certificate. */
  present(id: CertifiedIdentity): void;
  close(): Promise<void>;
}

/** A merchant's endpoint: a real HTTPS server on 127.0.0.1. */
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

/** An endpoint that speaks whatever `onRequest` writes; it is called once for each request, when its body is complete. */
export async function startRawReceiver(
  onRequest: (socket: tls.TLSSocket, body: string, reset: () => void) => void,
  id?: CertifiedIdentity,
): Promise<Receiver> {
  const used = id ?? (await localIdentity());
  // A TLS socket cannot send RST, the TCP socket under it can.
  const below = new Map<number | undefined, Socket>();
  const server = tls.createServer(used, (socket) => {
    const reset = () => below.get(socket.remotePort)?.resetAndDestroy();
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
  server.on("connection", (socket: Socket) => below.set(socket.remotePort, socket));
  return startListening(server, used.cert);
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
    present: (id) => server.setSecureContext(id),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
