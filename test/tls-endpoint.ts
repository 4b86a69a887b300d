import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";

export interface TlsEndpoint {
  port: number;
  cutConnections(): void;
  /** Cuts all connections and accepts no more. */
  close(): void;
}

/** Starts an HTTPS server on loopback that passes on whole requests and tolerates broken connections. */
export async function startTlsEndpoint(
  tls: { cert: string; key: string },
  keepAliveMs: number,
  receive: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<TlsEndpoint> {
  const sockets = new Set<Socket>();
  const server = createServer(tls, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("error", () => {});
    request.on("end", () => receive(request, response, Buffer.concat(chunks).toString("utf8")));
  });
  server.keepAliveTimeout = keepAliveMs;
  server.on("tlsClientError", () => {});
  server.on("secureConnection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cutConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cutConnections,
    close() {
      cutConnections();
      server.close();
    },
  };
}
