import { isIP } from "node:net";
import { type AllowedAddress, findAddressProblem } from "./address-guard.ts";
import { createResolver, type ResolveHostname, SYSTEM_DNS } from "./dns-lookup.ts";

/** What a webhook URL's name leads to at this moment. `unknown`: nobody says, which is no reason to refuse it. */
export type HostCheck = { verdict: "ok" } | { verdict: "refused" | "unknown"; words: string };

/** Somebody waits for the command to end. */
const resolveQuickly: ResolveHostname = createResolver({ ...SYSTEM_DNS, tryMs: 1_500, tries: 2 });

/**
 * Looks up the name in a URL that is about to be saved, so that the one who types it hears at once what every attempt
 * would say. This guards nothing: the name may lead elsewhere a moment later, and each connection checks again.
 *
 * A public endpoint has no private addresses beside its public ones, so a mixed answer is refused here; an attempt
 * would use the public ones and pass over the others.
 *
 * @param url  one that `findWebhookUrlProblem` has nothing against
 * @param resolve  injected by tests
 */
export async function checkWebhookHost(
  url: string,
  allow: readonly AllowedAddress[],
  resolve: ResolveHostname = resolveQuickly,
): Promise<HostCheck> {
  const { hostname, port: written } = new URL(url);
  const port = written === "" ? 443 : Number(written);
  const name = hostname.replace(/\.$/, "");
  // This machine's own names were judged by themselves: of their two addresses one may be open and the other not.
  if (isIP(name.replace(/^\[|\]$/g, "")) !== 0 || /(^|\.)localhost$/.test(name)) return { verdict: "ok" };
  let found: string[];
  try {
    found = (await resolve(name)).map(({ address }) => address);
  } catch (error) {
    const { code } = error as { code?: string };
    const words = code === "ENOTFOUND" ? `${name} has no address` : `${name} could not be looked up`;
    return { verdict: "unknown", words };
  }
  const problems = found
    .map((address) => findAddressProblem(address, port, allow))
    .filter((problem) => problem !== null);
  if (problems.length === 0) return { verdict: "ok" };
  const open = found.filter((address) => findAddressProblem(address, port, allow) === null);
  // The operator knows this network, and perhaps opened one of its two families.
  if (open.length > 0 && open.every((address) => findAddressProblem(address, port, []) !== null))
    return { verdict: "ok" };
  return { verdict: "refused", words: `${name} leads to ${problems[0]}` };
}
