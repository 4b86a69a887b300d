import { isIP } from "node:net";
import { type AllowedAddress, findAddressProblem } from "./address-guard.ts";
import { createResolver, type ResolveHostname, SYSTEM_DNS } from "./dns-lookup.ts";

/** `unknown`: no name server answered, which is no reason to refuse a URL. */
export type HostCheck = { verdict: "ok" } | { verdict: "refused" | "unknown"; reason: string };

const resolveQuickly: ResolveHostname = createResolver({ ...SYSTEM_DNS, timeoutMs: 1_500, attempts: 2 });

/**
 * No protection, because the name may resolve differently later: each connection checks again. Refuses a mix of public and
 * private addresses, which no public endpoint has; an attempt would use only the public ones.
 *
 * @param url  accepted by `findWebhookUrlProblem`
 */
export async function checkWebhookHost(
  url: string,
  allow: readonly AllowedAddress[],
  resolve: ResolveHostname = resolveQuickly,
): Promise<HostCheck> {
  const { hostname, port: urlPort } = new URL(url);
  const port = urlPort === "" ? 443 : Number(urlPort);
  const name = hostname.replace(/\.$/, "");
  // Judged by `findWebhookUrlProblem`. Possibly only one localhost address is allowed.
  if (isIP(name.replace(/^\[|\]$/g, "")) !== 0 || /(^|\.)localhost$/.test(name)) return { verdict: "ok" };
  let found: string[];
  try {
    found = (await resolve(name)).map(({ address }) => address);
  } catch (error) {
    const { code } = error as { code?: string };
    const reason = code === "ENOTFOUND" ? `${name} has no address` : `${name} could not be looked up`;
    return { verdict: "unknown", reason };
  }
  const problems = found
    .map((address) => findAddressProblem(address, port, allow))
    .filter((problem) => problem !== null);
  if (problems.length === 0) return { verdict: "ok" };
  const allowed = found.filter((address) => findAddressProblem(address, port, allow) === null);
  // All are private: the operator knows this network, and may have allowed only one address family.
  if (allowed.length > 0 && allowed.every((address) => findAddressProblem(address, port, []) !== null))
    return { verdict: "ok" };
  return { verdict: "refused", reason: `${name} resolves to a refused address: ${problems[0]}` };
}
