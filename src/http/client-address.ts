import type { IncomingMessage } from "node:http";
import ipaddr from "ipaddr.js";

type Range = ReturnType<typeof ipaddr.parseCIDR>;

export interface TrustedProxies {
  ranges: readonly Range[];
}

/**
 * Parses the setting DUNLIN_TRUSTED_PROXIES: CIDR ranges or addresses, separated by commas.
 *
 * @throws Error that names the first bad entry
 */
export function parseTrustedProxies(text: string): TrustedProxies {
  const entries = text.split(",").flatMap((entry) => entry.trim() || []);
  return {
    ranges: entries.map((entry) => {
      if (ipaddr.isValidCIDR(entry)) return ipaddr.parseCIDR(entry);
      if (!ipaddr.isValid(entry)) throw new Error(`"${entry}" is neither an address nor a range like 10.0.0.0/8.`);
      const address = ipaddr.process(entry);
      return [address, address.kind() === "ipv4" ? 32 : 128];
    }),
  };
}

/**
 * Returns the client's address: the peer's, or the one that trusted proxies report. Returns null behind a proxy if no trusted
 * proxies are configured.
 *
 * @param proxied  whether a proxy in front of Dunlin terminates TLS
 */
export function clientAddress(
  { socket, headers }: Pick<IncomingMessage, "headers"> & { socket: { remoteAddress?: string | undefined } },
  { ranges }: TrustedProxies,
  proxied: boolean,
): string | null {
  if (ranges.length === 0) return proxied ? null : (socket.remoteAddress ?? "");
  const forwarded = [headers["x-forwarded-for"] ?? []].flat().join(",").split(",");
  const path = [...forwarded.flatMap((each) => each.trim() || []), socket.remoteAddress ?? ""];
  // Each proxy appends its peer. Before the last untrusted address, everything may be forged.
  return path.findLast((each) => !isTrusted(each, ranges)) ?? path[0]!;
}

/** Whether connections from this address may serve many clients. */
export const isProxy = (peer: string, { ranges }: TrustedProxies, proxied: boolean): boolean =>
  ranges.length === 0 ? proxied : isTrusted(peer, ranges);

function isTrusted(text: string, ranges: readonly Range[]): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return ranges.some((range) => address.kind() === range[0].kind() && address.match(range as never));
}
