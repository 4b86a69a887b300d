import ipaddr from "ipaddr.js";

const IPV6_NETWORK_GROUPS = 4;
/** Some proxies write an address with its port, and IPv6 in brackets. */
const ADDRESS_WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/;

/** Cached, because many requests arrive over one connection. */
let lastText = "";
let lastNetwork = readNetwork(lastText);

/** Returns the key by which clients are counted: the /64 network for IPv6, the address for IPv4, or "unknown". */
export function networkOf(text: string): string {
  if (text !== lastText) {
    lastNetwork = readNetwork(text);
    lastText = text;
  }
  return lastNetwork;
}

function readNetwork(text: string): string {
  const addressText = ADDRESS_WITH_PORT.exec(text)?.slice(1).find(Boolean) ?? text;
  if (!ipaddr.isValid(addressText)) return "unknown";
  const address = ipaddr.process(addressText);
  if (address instanceof ipaddr.IPv4) return address.toString();
  return `${address.parts
    .slice(0, IPV6_NETWORK_GROUPS)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}
