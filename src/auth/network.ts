import ipaddr from "ipaddr.js";

const NETWORK_PARTS = 4;

/** The one that was asked for last: many requests come over one connection. */
let lastText = "";
let lastNetwork = "unknown";

/** By what callers are counted: of IPv6 the network, since whoever has one has all its addresses; "unknown" of what is no address. */
export function networkOf(text: string): string {
  if (text !== lastText) {
    lastNetwork = readNetwork(text);
    lastText = text;
  }
  return lastNetwork;
}

function readNetwork(text: string): string {
  if (!ipaddr.isValid(text)) return "unknown";
  const address = ipaddr.process(text);
  if (address instanceof ipaddr.IPv4) return address.toString();
  return `${address.parts
    .slice(0, NETWORK_PARTS)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}
