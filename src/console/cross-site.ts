import type { IncomingHttpHeaders } from "node:http";

/**
 * Whether another site may have sent a form. Pages cannot change Sec-Fetch-Site; older browsers send only the origin.
 *
 * @param origin  of the console
 */
export function isCrossSite(headers: IncomingHttpHeaders, origin: string): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site !== "same-origin";
  return headers.origin !== origin;
}

/** Returns the path if it is on this site, else `/overview`, so that no link leads people to another site. */
export function safePath(path: string | null, origin: string): string {
  const home = "/overview";
  if (path === null || !/^\/(?![/\\])[\x21-\x7e]*$/.test(path) || !URL.canParse(path, origin)) return home;
  const url = new URL(path, origin);
  // "/.//evil.example" normalizes to the address of another site.
  const isHere = url.origin === origin && !url.pathname.startsWith("//");
  return isHere ? url.pathname + url.search : home;
}
