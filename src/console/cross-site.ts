import type { IncomingHttpHeaders } from "node:http";

/** Pages cannot change Sec-Fetch-Site; older browsers send only the origin. */
export function isCrossSite(headers: IncomingHttpHeaders, origin: string): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site !== "same-origin";
  return headers.origin !== origin;
}

/** Any other site becomes `/overview`, so no link leads people there. */
export function safePath(path: string | null, origin: string): string {
  const home = "/overview";
  if (path === null || !/^\/(?![/\\])[\x21-\x7e]*$/.test(path) || !URL.canParse(path, origin)) return home;
  const url = new URL(path, origin);
  // "/.//evil.example" normalizes to another site's address.
  const isHere = url.origin === origin && !url.pathname.startsWith("//");
  return isHere ? url.pathname + url.search : home;
}
