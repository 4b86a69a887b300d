import ipaddr from "ipaddr.js";

const NETWORK_PARTS = 4;
/** As some proxies write an address: with its port, and one of IPv6 in brackets. */
const PORTED = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/;

/** The one that was asked for last: many requests come over one connection. */
let lastText = "";
let lastNetwork = readNetwork(lastText);

/** By what callers are counted: of IPv6 the network, since whoever has one has all its addresses; "unknown" of what is no address. */
export function networkOf(text: string): string {
  if (text !== lastText) {
    lastNetwork = readNetwork(text);
    lastText = text;
  }
  return lastNetwork;
}

function readNetwork(text: string): string {
  const bare = PORTED.exec(text)?.slice(1).find(Boolean) ?? text;
  if (!ipaddr.isValid(bare)) return "unknown";
  const address = ipaddr.process(bare);
  if (address instanceof ipaddr.IPv4) return address.toString();
  return `${address.parts
    .slice(0, NETWORK_PARTS)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}
