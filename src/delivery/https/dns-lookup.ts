import { promises as dns, type LookupAddress } from "node:dns";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { isExhaustion } from "./resource-exhaustion.ts";

/** Rejects with ENOTFOUND (no address) or EAI_AGAIN (no name server answered). */
export type ResolveHostname = (hostname: string) => Promise<LookupAddress[]>;

export interface DnsSettings {
  hostsFile: string;
  /** `address:port`; for tests. By default the system's. */
  servers?: readonly string[];
  /** Time limit of one query. */
  timeoutMs: number;
  /** Per name server, because packets get lost. */
  attempts: number;
}

export const SYSTEM_DNS: DnsSettings = { hostsFile: "/etc/hosts", timeoutMs: 3_000, attempts: 3 };
/** Some name servers never answer the IPv6 query. */
const OTHER_FAMILY_WAIT_MS = 300;
const LOOPBACK: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/**
 * The system's resolver has two threads per process, so two silent name servers would delay every merchant. Concurrent lookups of
 * a name share one query.
 */
export function createResolver(settings: DnsSettings = SYSTEM_DNS): ResolveHostname {
  const running = new Map<string, Promise<LookupAddress[]>>();
  return (hostname) => {
    const name = hostname.toLowerCase().replace(/\.$/, "");
    const lookupInProgress = running.get(name);
    if (lookupInProgress) return lookupInProgress;
    const lookUp = resolveHostname(name, settings).finally(() => running.delete(name));
    running.set(name, lookUp);
    return lookUp;
  };
}

async function resolveHostname(name: string, settings: DnsSettings): Promise<LookupAddress[]> {
  const hostsEntries = findInHostsFile(await readHostsFile(settings.hostsFile), name);
  if (hostsEntries.length > 0) return hostsEntries;
  // Never sent to name servers: https://www.rfc-editor.org/rfc/rfc6761#section-6.3
  if (name === "localhost" || name.endsWith(".localhost")) return [...LOOPBACK];
  return queryNameServers(name, settings);
}

/** @throws if the process is out of file handles, because the name may be in the file */
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

async function queryNameServers(name: string, { servers, timeoutMs, attempts }: DnsSettings): Promise<LookupAddress[]> {
  // A new resolver reads the system's current settings, and forgets how slow earlier answers were.
  const resolver = new dns.Resolver({ timeout: timeoutMs, maxTimeout: timeoutMs, tries: attempts });
  if (servers) resolver.setServers(servers);
  try {
    const ipv6Answer = toFamilyAnswer(resolver.resolve6(name), 6);
    const ipv4Answer = await toFamilyAnswer(resolver.resolve4(name), 4);
    const noAnswer: FamilyAnswer = { addresses: [], errorCode: "" };
    const lateAnswers = ipv4Answer.addresses.length > 0 ? [sleep(OTHER_FAMILY_WAIT_MS, noAnswer, { ref: false })] : [];
    const otherAnswer = await Promise.race([ipv6Answer, ...lateAnswers]);
    const found = [...ipv4Answer.addresses, ...otherAnswer.addresses];
    if (found.length === 0) throw lookupError(name, [ipv4Answer.errorCode, otherAnswer.errorCode]);
    return found;
  } finally {
    resolver.cancel();
  }
}

interface FamilyAnswer {
  addresses: LookupAddress[];
  /** Code of the resolver's error, or "". */
  errorCode: string;
}

const toFamilyAnswer = (query: Promise<string[]>, family: 4 | 6): Promise<FamilyAnswer> =>
  query.then(
    (addresses) => ({ addresses: addresses.map((address) => ({ address, family })), errorCode: "" }),
    ({ code }) => ({ addresses: [], errorCode: String(code) }),
  );

const NO_ADDRESS_CODE = /^(|ENODATA|ENOTFOUND|EBADNAME)$/;

function lookupError(name: string, errorCodes: readonly string[]) {
  const code = errorCodes.every((errorCode) => NO_ADDRESS_CODE.test(errorCode)) ? "ENOTFOUND" : "EAI_AGAIN";
  return Object.assign(new Error(`${name}: ${errorCodes.join(", ")}`), { code });
}
