import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer as createNetServer, type Server as NetServer, type Socket } from "node:net";
import { errorBody } from "./errors.ts";

export type Tls = { cert: string; key: string } | "proxy";

const HEADERS_MS = 10_000;
const REQUEST_MS = 20_000;
// Handshakes are expensive, so connections outlive the 60 seconds that proxies usually keep theirs.
const KEEP_ALIVE_MS = 65_000;
const HEADER_BYTES_MAX = 32 * 1024;
export const CONNECTIONS_MAX = 5_000;
const CLOSE_MS = 10_000;

const LIMITS = {
  headersTimeout: HEADERS_MS,
  requestTimeout: REQUEST_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: HEADER_BYTES_MAX,
};

/** A client that offers only HTTP/1.0, such as `curl -0`, would otherwise fail in the handshake. */
const ALPNProtocols = ["http/1.1", "http/1.0"];

export function createListener(tls: Tls, handler: RequestListener): Server {
  const server =
    tls === "proxy"
      ? createHttpServer(LIMITS, handler)
      : createHttpsServer(
          {
            ...LIMITS,
            cert: tls.cert,
            key: tls.key,
            minVersion: "TLSv1.2",
            handshakeTimeout: HEADERS_MS,
            ALPNProtocols,
          },
          handler,
        );
  server.maxConnections = CONNECTIONS_MAX;
  // The API sends 100 Continue just before it reads the body, so a refused client sends none.
  server.on("checkContinue", handler);
  server.on("checkExpectation", handler);
  if (tls !== "proxy") sniffConnections(server);
  return server;
}

const TLS_HANDSHAKE = 0x16;

/** Checks each connection's first byte, and answers plain HTTP with an explanation. */
function sniffConnections(server: Server) {
  const listeners = server.listeners("connection") as ((socket: Socket) => void)[];
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    const onError = () => socket.destroy();
    const slow = setTimeout(() => socket.destroy(), HEADERS_MS);
    socket.on("error", onError);
    socket.once("close", () => clearTimeout(slow));
    socket.once("data", (chunk: Buffer) => {
      clearTimeout(slow);
      socket.pause();
      if (chunk[0] !== TLS_HANDSHAKE) return refusePlainHttp(socket);
      socket.removeListener("error", onError);
      socket.unshift(chunk);
      for (const listener of listeners) listener.call(server, socket);
    });
  });
}

const PLAIN_HTTP_BODY = `${JSON.stringify(errorBody("other", 400, "This port accepts HTTPS only: use https:// in the URL"))}\n`;

function refusePlainHttp(socket: Socket) {
  socket.resume();
  socket.end(rawReply(400, "Bad Request", PLAIN_HTTP_BODY));
  // If a socket closes with unread bytes, the kernel resets it and the answer is lost.
  setTimeout(() => socket.destroy(), 1_000).unref();
}

/** Formats an HTTP response for bytes that Node could not parse as a request. */
export function rawReply(status: number, reason: string, body: string, requestId?: string): string {
  const id = requestId === undefined ? "" : `X-Request-Id: ${requestId}\r\n`;
  const head = `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\n${id}`;
  return `${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
}

export interface Listening {
  port: number;
  /** Stops accepting connections, waits up to ten seconds for requests in flight, then closes the rest. */
  close(): Promise<void>;
}

/** Listens on every address of `host`. For localhost: 127.0.0.1 and, if available, ::1. */
export async function listen(server: Server, host: string, port: number): Promise<Listening> {
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  };
  server.prependListener("connection", track);
  const [first, ...others] = await addressesOf(host);
  await startListening(server, first!, port);
  const bound = (server.address() as AddressInfo).port;
  const servers: NetServer[] = [server];
  for (const address of others) {
    const another = createNetServer((socket) => server.emit("connection", socket));
    another.maxConnections = CONNECTIONS_MAX;
    try {
      await startListening(another, address, bound);
      servers.push(another);
    } catch (error) {
      // A host name may resolve to addresses that this machine does not have.
      if (!/^(EADDRNOTAVAIL|EADDRINUSE|EAFNOSUPPORT)$/.test((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
  return { port: bound, close: () => closeAll(servers, sockets) };
}

/** Throws the error of `listen` if the port is taken. Releases it at once, so that early clients are refused. */
export async function checkPortIsFree(host: string, port: number) {
  const [first] = await addressesOf(host);
  const server = createNetServer();
  await startListening(server, first!, port);
  server.close();
  await once(server, "close");
}

async function addressesOf(host: string): Promise<string[]> {
  // Some hosts files list only one of the two.
  if (host === "localhost") return ["127.0.0.1", "::1"];
  const found = await lookup(host, { all: true, order: "ipv4first" });
  return [...new Set(found.map(({ address }) => address))];
}

async function startListening(server: NetServer, host: string, port: number) {
  server.listen(port, host);
  await once(server, "listening");
}

async function closeAll(servers: readonly NetServer[], sockets: ReadonlySet<Socket>) {
  const closed = Promise.all(servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
  // These connections have not sent any part of a request.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  const timeout = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, CLOSE_MS);
  await closed;
  clearTimeout(timeout);
}
