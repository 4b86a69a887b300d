import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A private range on one port. */
export interface AllowedAddress {
  range: [Address, number];
  port: number;
}

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");
/** Returns an Azure machine's secrets. */
const AZURE_WIRE_SERVER = "168.63.129.16";

/**
 * Explains why a connection is refused; null if it is allowed.
 *
 * @param text  a numeric address
 * @param allow  exceptions for private addresses
 */
export function findAddressProblem(text: string, port: number, allow: readonly AllowedAddress[]): string | null {
  if (isIP(text) === 0) return `${text} is not an IP address`;
  const address = ipaddr.process(text);
  // Only ipaddr.js reads the deprecated ::8.8.8.8 as 8.8.8.8. A zone selects a local interface, which no public address needs.
  if (isPublic(address) && !/^::\d+\.|%/.test(text)) return null;
  const allowed = allow.some((entry) => entry.port === port && isInRange(address, entry.range));
  return allowed ? null : `${text} port ${port} is not a public address, and DUNLIN_WEBHOOK_ALLOW does not allow it`;
}

function isPublic(address: Address): boolean {
  if (address instanceof ipaddr.IPv4) return address.range() === "unicast" && address.toString() !== AZURE_WIRE_SERVER;
  // Networks without IPv4 need this prefix. No endpoint needs 6to4, Teredo or the local NAT64 prefix, which embed an address too.
  if (isInRange(address, NAT64)) return isPublic(new ipaddr.IPv4(address.toByteArray().slice(-4)));
  // IANA assigns public addresses only in 2000::/3, so ranges that it reserves elsewhere later are refused already.
  return isInRange(address, GLOBAL_UNICAST) && address.range() === "unicast" && !isIsatap(address);
}

/** A router may dial the embedded IPv4 address: https://www.rfc-editor.org/rfc/rfc5214#section-6.1 */
const isIsatap = ({ parts }: ipaddr.IPv6) => parts[5] === 0x5efe && (parts[4] === 0 || parts[4] === 0x200);

const isInRange = (address: Address, range: [Address, number]) =>
  address.kind() === range[0].kind() && address.match(range as [ipaddr.IPv4 & ipaddr.IPv6, number]);

/**
 * DUNLIN_WEBHOOK_ALLOW: comma-separated `CIDR:port` entries.
 *
 * @throws Error that names the first invalid entry
 */
export function parseAllowList(text: string): AllowedAddress[] {
  return text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map(parseAllowEntry);
}

function parseAllowEntry(entry: string): AllowedAddress {
  const match = /^\[?([0-9a-f.:]+)\]?\/(\d{1,3}):(\d{1,5})$/i.exec(entry);
  const [, address = "", prefix, port] = match ?? [];
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (Number(prefix) > bits || match === null || entry.includes("[") !== entry.includes("]"))
    throw new Error(`"${entry}" is not an address range with a port; write it like 10.1.0.0/16:443 or [fd00::]/8:443`);
  if (Number(port) < 1 || Number(port) > 65_535) throw new Error(`the port of "${entry}" is not between 1 and 65535`);
  const parsed = ipaddr.parse(address);
  // It would never match, because dialed addresses are unmapped first.
  if (parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress())
    throw new Error(`"${entry}" is an IPv4 range in IPv6 notation; write it like 10.1.0.0/16:443`);
  // 10.1.2.3/8 may be meant as one machine, but would allow 16 million.
  const network = (parsed instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(
    `${address}/${prefix}`,
  );
  if (network.toString() !== parsed.toString())
    throw new Error(
      `"${entry}" does not start at the beginning of its range: write ${network}/${prefix} for the whole range, or ${address}/${bits} for one address`,
    );
  return { range: [parsed, Number(prefix)], port: Number(port) };
}

const URL_LENGTH_MAX = 2_048;
/** @see docs/reference/webhook-addresses.md#special-use-names */
const PRIVATE_NAMES = /(^|\.)(localdomain|local|internal|home\.arpa|onion|invalid|alt)$/;

/** Explains why a URL is refused; null if it is accepted. Each connection checks the host name's addresses. */
export function findWebhookUrlProblem(text: string, allow: readonly AllowedAddress[]): string | null {
  if (text.length > URL_LENGTH_MAX) return `the URL is longer than ${URL_LENGTH_MAX} characters`;
  // The URL parser drops these silently, so a different URL would be called than the one that was typed.
  if (/[\s\p{Cc}\\]/u.test(text)) return "the URL contains a space, a backslash or a control character";
  if (!/^https:\/\/[^/]/i.test(text)) return "the URL must begin with https:// and a host name";
  if (!URL.canParse(text)) return "the URL is not valid; write it like https://example.com/webhooks";
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return "the URL must not contain a user name or password";
  if (url.port === "0") return "the port must not be 0";
  const port = url.port === "" ? 443 : Number(url.port);
  // The URL parser has already normalized 0x7f.1, 2130706433 and 127.1.
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (host === "" || host.length > 253) return "the host name in the URL is not valid";
  if (isIP(host) !== 0) return findAddressProblem(host, port, allow);
  if (!host.split(".").every((label) => label.length >= 1 && label.length <= 63))
    return "the host name in the URL is not valid";
  if (PRIVATE_NAMES.test(host) && !allow.some((entry) => entry.port === port))
    return `${host} is a private network name, and DUNLIN_WEBHOOK_ALLOW allows no address on port ${port}`;
  if (host !== "localhost" && !host.endsWith(".localhost")) return null;
  const loopback = ["127.0.0.1", "::1"].map((address) => findAddressProblem(address, port, allow));
  return loopback.includes(null)
    ? null
    : `${host} port ${port} is this machine, and DUNLIN_WEBHOOK_ALLOW does not allow it`;
}
