import type { IncomingHttpHeaders } from "node:http";

/**
 * Whether a form may have been sent by another site. Browsers say where a request comes from in Sec-Fetch-Site, and no page
 * can change that; older ones name the origin.
 *
 * @param origin  of the console, as people open it
 */
export function isCrossSite(headers: IncomingHttpHeaders, origin: string): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site !== "same-origin";
  return headers.origin !== origin;
}

/** A path of this site to go on to; anything else is `/overview`, so that no link sends people elsewhere. */
export function safePath(path: string | null, origin: string): string {
  const home = "/overview";
  if (path === null || !/^\/(?![/\\])[\x21-\x7e]*$/.test(path) || !URL.canParse(path, origin)) return home;
  const url = new URL(path, origin);
  // What is left of "/.//evil.example" is the address of another site.
  const isHere = url.origin === origin && !url.pathname.startsWith("//");
  return isHere ? url.pathname + url.search : home;
}
