import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Logger as Log } from "pino";
import { networkOf } from "../auth/client-network.ts";
import { isProxy, type TrustedProxies } from "./client-address.ts";
import { errorBody } from "./errors.ts";
import { rawReply } from "./listener.ts";

export interface ConnectionLimitOptions {
  /** How many connections one address may have. */
  max: number;
  trustedProxies: TrustedProxies;
  /** Whether a proxy in front ends TLS. */
  proxied: boolean;
  log: Log;
  /** A connection was closed: its address had its share, or there were too many of all addresses. */
  onRefused(reason: "address" | "all"): void;
}

/** The reply before the client has sent anything: a fatal alert of TLS, "access denied". */
const TLS_ALERT = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 49]);
const HTTP_REPLY = rawReply(
  429,
  "Too Many Requests",
  `${JSON.stringify(errorBody("other", 429, "Too many connections are open from your address: close some, or share one among requests"))}\n`,
);
/** So long a refused client may take to read why. */
const LINGER_MS = 1_000;
/** Refused connections that linger use up the limit of all connections, so only some may. */
const LINGERING_CONNECTIONS_MAX = 100;

/**
 * Closes connections above the share of their address, before TLS costs anything. Addresses of one IPv6 network (/64) share. The connections of a trusted proxy belong to its
 * many clients and are not counted. Behind a proxy that is not named, no connection is counted.
 */
export function limitConnections(
  server: Server,
  { max, trustedProxies, proxied, log, onRefused }: ConnectionLimitOptions,
): Server {
  const shares = new Map<string, { open: number; isTold: boolean }>();
  let lingering = 0;

  function refuse(socket: Socket) {
    onRefused("address");
    socket.on("error", () => {});
    if (lingering >= LINGERING_CONNECTIONS_MAX) return socket.destroy();
    lingering++;
    const late = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("close", () => {
      lingering--;
      clearTimeout(late);
    });
    socket.resume(); // if bytes are unread when a socket closes, the kernel resets it and the answer is lost
    return socket.end(proxied ? HTTP_REPLY : TLS_ALERT);
  }

  function isAdmitted(socket: Socket): boolean {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || isProxy(remoteAddress, trustedProxies, proxied)) return true;
    const network = networkOf(remoteAddress);
    const share = shares.get(network) ?? { open: 0, isTold: false };
    if (share.open >= max) {
      if (!share.isTold) log.warn({ network, max }, "connections.refused");
      share.isTold = true;
      return false;
    }
    share.open++;
    shares.set(network, share);
    socket.once("close", () => {
      share.open--;
      if (share.open === 0) shares.delete(network);
    });
    return true;
  }

  const listeners = server.listeners("connection") as ((socket: Socket) => void)[];
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    if (!isAdmitted(socket)) return refuse(socket);
    for (const listener of listeners) listener.call(server, socket);
  });
  server.on("drop", () => onRefused("all"));
  return server;
}
