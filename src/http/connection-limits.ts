import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Logger as Log } from "pino";
import { networkOf } from "../auth/client-network.ts";
import { isProxy, type TrustedProxies } from "./client-address.ts";
import { errorBody } from "./errors.ts";
import { rawReply } from "./listener.ts";

export interface ConnectionLimitOptions {
  max: number;
  trustedProxies: TrustedProxies;
  /** Whether a proxy in front of Dunlin terminates TLS. */
  proxied: boolean;
  log: Log;
  /** "address": its address reached the limit. "all": the process did. */
  onRefused(reason: "address" | "all"): void;
}

/** The fatal TLS alert "access denied", valid before the client has sent anything. */
const TLS_ALERT = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 49]);
const HTTP_REPLY = rawReply(
  429,
  "Too Many Requests",
  `${JSON.stringify(errorBody("other", 429, "Too many open connections from your address: close some, or reuse one for several requests"))}\n`,
);
const LINGER_MS = 1_000;
/** Lingering connections count toward the process's limit, so only some refused ones linger. */
const LINGERING_CONNECTIONS_MAX = 100;

/**
 * Closes connections above the limit of their address, before the TLS handshake costs anything.
 *
 * - Addresses of an IPv6 network (/64) share a limit.
 * - A trusted proxy's connections are not counted, because they serve many clients.
 * - Behind a proxy, nothing is counted if no trusted proxies are configured.
 */
export function limitConnections(
  server: Server,
  { max, trustedProxies, proxied, log, onRefused }: ConnectionLimitOptions,
): Server {
  const shares = new Map<string, { open: number; isLogged: boolean }>();
  let lingering = 0;

  function refuse(socket: Socket) {
    onRefused("address");
    socket.on("error", () => {});
    if (lingering >= LINGERING_CONNECTIONS_MAX) return socket.destroy();
    lingering++;
    const timeout = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("close", () => {
      lingering--;
      clearTimeout(timeout);
    });
    socket.resume(); // if a socket closes with unread bytes, the kernel resets it and the answer is lost
    return socket.end(proxied ? HTTP_REPLY : TLS_ALERT);
  }

  function isAdmitted(socket: Socket): boolean {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || isProxy(remoteAddress, trustedProxies, proxied)) return true;
    const network = networkOf(remoteAddress);
    const share = shares.get(network) ?? { open: 0, isLogged: false };
    if (share.open >= max) {
      if (!share.isLogged) log.warn({ network, max }, "connections.refused");
      share.isLogged = true;
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
