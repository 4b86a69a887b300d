import ipaddr from "ipaddr.js";

const IPV6_NETWORK_GROUPS = 4;
/** As some proxies write an address: with its port, and one of IPv6 in brackets. */
const ADDRESS_WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/;

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
  const bare = ADDRESS_WITH_PORT.exec(text)?.slice(1).find(Boolean) ?? text;
  if (!ipaddr.isValid(bare)) return "unknown";
  const address = ipaddr.process(bare);
  if (address instanceof ipaddr.IPv4) return address.toString();
  return `${address.parts
    .slice(0, IPV6_NETWORK_GROUPS)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}
