import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer as createNetServer, type Server as NetServer, type Socket } from "node:net";
import { errorBody } from "./errors.ts";

export type Tls = { cert: string; key: string } | "proxy";

const HEADERS_MS = 10_000;
const REQUEST_MS = 20_000;
// A new connection costs 0.75 ms of CPU: keep those we have, and outlast the usual 60 s of proxies in front.
const KEEP_ALIVE_MS = 65_000;
const HEADER_BYTES_MAX = 32 * 1024;
/** Connections of one process, of all addresses together. */
export const CONNECTIONS_MAX = 5_000;
const CLOSE_MS = 10_000;

const LIMITS = {
  headersTimeout: HEADERS_MS,
  requestTimeout: REQUEST_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: HEADER_BYTES_MAX,
};

/** A client that names protocols, and none of these, is refused in the handshake: `curl -0` names HTTP/1.0 only. */
const ALPNProtocols = ["http/1.1", "http/1.0"];

/** The server behind the API: HTTPS, or plain HTTP when a proxy in front ends TLS. */
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
  // The body of a refused caller must not be sent at all: the 100 goes out when the body is about to be read.
  server.on("checkContinue", handler);
  server.on("checkExpectation", handler);
  if (tls !== "proxy") sniffConnections(server);
  return server;
}

const TLS_HANDSHAKE = 0x16;

/** Look at the first byte of each connection, and tell those who speak plain HTTP what to do. */
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

const PLAIN_HTTP_BODY = `${JSON.stringify(errorBody("other", 400, "This port speaks HTTPS only: use https:// in the address"))}\n`;

function refusePlainHttp(socket: Socket) {
  socket.resume();
  socket.end(rawReply(400, "Bad Request", PLAIN_HTTP_BODY));
  // If bytes are unread when a socket closes, the kernel resets it and the answer is lost.
  setTimeout(() => socket.destroy(), 1_000).unref();
}

/** An answer for what never became a request. */
export function rawReply(status: number, reason: string, body: string, requestId?: string): string {
  const id = requestId === undefined ? "" : `X-Request-Id: ${requestId}\r\n`;
  const head = `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\n${id}`;
  return `${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
}

export interface Listening {
  port: number;
  /** Accept no more, let requests in flight finish, then close what is left. */
  close(): Promise<void>;
}

/** Listen on every address that `host` names: of localhost on 127.0.0.1 and, where there is one, on ::1. */
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
      // A name may have addresses that this machine has not.
      if (!/^(EADDRNOTAVAIL|EADDRINUSE|EAFNOSUPPORT)$/.test((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
  return { port: bound, close: () => closeAll(servers, sockets) };
}

/**
 * Throws what `listen` would throw, where another process has the port. It is let go again at once: nobody who connects
 * before there is a service finds an open port.
 */
export async function checkPortIsFree(host: string, port: number) {
  const [first] = await addressesOf(host);
  const server = createNetServer();
  await startListening(server, first!, port);
  server.close();
  await once(server, "close");
}

async function addressesOf(host: string): Promise<string[]> {
  // Not every machine's hosts file says that localhost is both.
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
  // Nothing of a request was read from these.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  const late = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, CLOSE_MS);
  await closed;
  clearTimeout(late);
}
