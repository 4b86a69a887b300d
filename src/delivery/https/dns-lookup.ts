import { promises as dns, type LookupAddress } from "node:dns";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { isExhaustion } from "./resource-exhaustion.ts";

/** The addresses of a host name, or an Error with code ENOTFOUND (it has none) or EAI_AGAIN (nobody says). */
export type ResolveHostname = (hostname: string) => Promise<LookupAddress[]>;

export interface DnsSettings {
  /** Names in here are not asked for. */
  hostsFile: string;
  /** `address:port` of name servers in place of the system's; for tests. */
  servers?: readonly string[];
  /** How long a name server has, and how many times each is asked: slow zones take seconds, packets get lost. */
  tryMs: number;
  tries: number;
}

export const SYSTEM_DNS: DnsSettings = { hostsFile: "/etc/hosts", tryMs: 3_000, tries: 3 };
/** Some name servers swallow the question for IPv6 addresses: whoever has an IPv4 one does not wait longer for the answer. */
const OTHER_FAMILY_WAIT_MS = 300;
const LOOPBACK: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/**
 * Looks names up without the system's resolver: that one has two threads for the whole process, so two name servers
 * that swallow questions would hold up every merchant. Here a question is only a packet, however many wait for answers.
 * A name is asked for at most once at a time.
 */
export function createResolver(settings: DnsSettings = SYSTEM_DNS): ResolveHostname {
  const running = new Map<string, Promise<LookupAddress[]>>();
  return (hostname) => {
    const name = hostname.toLowerCase().replace(/\.$/, "");
    const known = running.get(name);
    if (known) return known;
    const lookUp = resolveHostname(name, settings).finally(() => running.delete(name));
    running.set(name, lookUp);
    return lookUp;
  };
}

async function resolveHostname(name: string, settings: DnsSettings): Promise<LookupAddress[]> {
  const listed = findInHostsFile(await readHostsFile(settings.hostsFile), name);
  if (listed.length > 0) return listed;
  // Never asked for in public: https://www.rfc-editor.org/rfc/rfc6761#section-6.3
  if (name === "localhost" || name.endsWith(".localhost")) return [...LOOPBACK];
  return queryNameServers(name, settings);
}

/** @throws when we have no more files: then nobody knows whether a name is in it */
const readHostsFile = (file: string) =>
  readFile(file, "utf8").catch((error: unknown) => {
    if (isExhaustion(error)) throw error;
    return "";
  });

function findInHostsFile(text: string, name: string): LookupAddress[] {
  return text.split("\n").flatMap((line) => {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().toLowerCase().split(/\s+/);
    const family = isIP(address);
    return family !== 0 && names.includes(name) ? [{ address, family }] : [];
  });
}

async function queryNameServers(name: string, { servers, tryMs, tries }: DnsSettings): Promise<LookupAddress[]> {
  // A new one each time: it knows what the system's settings are now, and remembers nothing of earlier answers' speed.
  const resolver = new dns.Resolver({ timeout: tryMs, maxTimeout: tryMs, tries });
  if (servers) resolver.setServers(servers);
  try {
    const six = toFamilyAnswer(resolver.resolve6(name), 6);
    const four = await toFamilyAnswer(resolver.resolve4(name), 4);
    const none: FamilyAnswer = { found: [], problem: "" };
    const late = four.found.length > 0 ? [sleep(OTHER_FAMILY_WAIT_MS, none, { ref: false })] : [];
    const other = await Promise.race([six, ...late]);
    const found = [...four.found, ...other.found];
    if (found.length === 0) throw lookupError(name, [four.problem, other.problem]);
    return found;
  } finally {
    resolver.cancel();
  }
}

interface FamilyAnswer {
  found: LookupAddress[];
  /** The resolver's code. */
  problem: string;
}

const toFamilyAnswer = (asked: Promise<string[]>, family: 4 | 6): Promise<FamilyAnswer> =>
  asked.then(
    (addresses) => ({ found: addresses.map((address) => ({ address, family })), problem: "" }),
    ({ code }) => ({ found: [], problem: String(code) }),
  );

const NO_ADDRESS = /^(|ENODATA|ENOTFOUND|EBADNAME)$/;

function lookupError(name: string, problems: readonly string[]) {
  const code = problems.every((problem) => NO_ADDRESS.test(problem)) ? "ENOTFOUND" : "EAI_AGAIN";
  return Object.assign(new Error(`${name}: ${problems.join(", ")}`), { code });
}
