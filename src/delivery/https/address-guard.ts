import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Private addresses that the operator lets webhooks go to, each with the one port it may be reached at. */
export interface AllowedAddress {
  range: [Address, number];
  port: number;
}

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");
/** Looks public, but inside an Azure machine it answers with the machine's secrets. */
const AZURE_WIRE_SERVER = "168.63.129.16";

/**
 * Why a connection to this address is refused, or null when it may be made.
 *
 * @param text  the numeric address that is dialled, or was
 * @param allow  exceptions, for addresses that are not public
 */
export function findAddressProblem(text: string, port: number, allow: readonly AllowedAddress[]): string | null {
  if (isIP(text) === 0) return `${text} is not an address`;
  const address = ipaddr.process(text);
  // ipaddr.js takes the long-deprecated ::8.8.8.8 for 8.8.8.8; nobody else does. A zone picks one of our own
  // interfaces, and no public address needs one.
  if (isPublic(address) && !/^::\d+\.|%/.test(text)) return null;
  const allowed = allow.some((entry) => entry.port === port && isInRange(address, entry.range));
  return allowed ? null : `${text} port ${port} is not a public address, and DUNLIN_WEBHOOK_ALLOW does not name it`;
}

function isPublic(address: Address): boolean {
  if (address instanceof ipaddr.IPv4) return address.range() === "unicast" && address.toString() !== AZURE_WIRE_SERVER;
  // A network without IPv4 reaches it through this prefix, so what counts is the address inside.
  // 6to4, Teredo and the local NAT64 prefix carry one too; nobody is served by them, so they stay refused.
  if (isInRange(address, NAT64)) return isPublic(new ipaddr.IPv4(address.toByteArray().slice(-4)));
  // Outside 2000::/3 nothing is handed out: what IANA sets aside there tomorrow is refused already.
  return isInRange(address, GLOBAL_UNICAST) && address.range() === "unicast" && !isIsatap(address);
}

/** The last 64 bits are an IPv4 address that a router on the way may dial: https://www.rfc-editor.org/rfc/rfc5214#section-6.1 */
const isIsatap = ({ parts }: ipaddr.IPv6) => parts[5] === 0x5efe && (parts[4] === 0 || parts[4] === 0x200);

const isInRange = (address: Address, range: [Address, number]) =>
  address.kind() === range[0].kind() && address.match(range as [ipaddr.IPv4 & ipaddr.IPv6, number]);

/**
 * The setting DUNLIN_WEBHOOK_ALLOW: `CIDR:port` entries between commas, the last colon splits the port off.
 *
 * @throws Error that names the first bad entry
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
    throw new Error(`"${entry}" is not an address range and a port; write it like 10.1.0.0/16:443 or [fd00::]/8:443`);
  if (Number(port) < 1 || Number(port) > 65_535) throw new Error(`the port of "${entry}" is not between 1 and 65535`);
  const parsed = ipaddr.parse(address);
  // Dialled addresses are unmapped before they are compared, so such an entry would never match.
  if (parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress())
    throw new Error(`"${entry}" is an IPv4 range in IPv6 clothes; write it like 10.1.0.0/16:443`);
  // Whoever writes 10.1.2.3/8 may mean one machine, and would open 16 million.
  const network = (parsed instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(
    `${address}/${prefix}`,
  );
  if (network.toString() !== parsed.toString())
    throw new Error(
      `"${entry}" does not begin its range: write ${network}/${prefix} for all of it, or ${address}/${bits}`,
    );
  return { range: [parsed, Number(prefix)], port: Number(port) };
}

const URL_LENGTH_MAX = 2_048;
/**
 * Names that the public tree of names never holds, so their addresses are those of a private network.
 *
 * @see docs/reference/webhook-addresses.md#special-use-names
 */
const PRIVATE_NAMES = /(^|\.)(localdomain|local|internal|home\.arpa|onion|invalid|alt)$/;

/**
 * What is wrong with a webhook URL, in words, or null. A name's addresses are not known yet: they are checked at each connection.
 *
 * @param text  as somebody typed it
 */
export function findWebhookUrlProblem(text: string, allow: readonly AllowedAddress[]): string | null {
  if (text.length > URL_LENGTH_MAX) return `the URL is longer than ${URL_LENGTH_MAX} characters`;
  // The URL parser drops these silently, and then another URL is called than the one that was read.
  if (/[\s\p{Cc}\\]/u.test(text)) return "the URL has a space, a backslash or a control character in it";
  if (!/^https:\/\/[^/]/i.test(text)) return "the URL must begin with https:// and a host name";
  if (!URL.canParse(text)) return "this is not a URL; write it like https://example.com/webhooks";
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return "the URL must not hold a user name or password";
  if (url.port === "0") return "the port must not be 0";
  const port = url.port === "" ? 443 : Number(url.port);
  // The URL parser has already turned 0x7f.1, 2130706433 and 127.1 into 127.0.0.1.
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (host === "" || host.length > 253) return "the URL has no host name that could exist";
  if (isIP(host) !== 0) return findAddressProblem(host, port, allow);
  if (!host.split(".").every((label) => label.length >= 1 && label.length <= 63))
    return "the URL has no host name that could exist";
  if (PRIVATE_NAMES.test(host) && !allow.some((entry) => entry.port === port))
    return `${host} is a name of private networks, and DUNLIN_WEBHOOK_ALLOW opens nothing on port ${port}`;
  if (host !== "localhost" && !host.endsWith(".localhost")) return null;
  const loopback = ["127.0.0.1", "::1"].map((address) => findAddressProblem(address, port, allow));
  return loopback.includes(null)
    ? null
    : `${host} port ${port} is this machine, and DUNLIN_WEBHOOK_ALLOW does not name it`;
}
