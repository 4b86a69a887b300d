import type { IncomingMessage } from "node:http";
import { ApiError } from "./errors.ts";

const HTTPS_ONLY_MESSAGE =
  "this service takes HTTPS only: use https:// in the address (the proxy says that this request came by http)";

/** Refuses a request of which the proxy that ends TLS says that it came by plain HTTP. */
export function refuseForwardedHttp({ headers }: Pick<IncomingMessage, "headers">) {
  const protos = [firstListElement(headers["x-forwarded-proto"]), protoOf(firstListElement(headers.forwarded))];
  if (protos.some((proto) => proto?.toLowerCase() === "http")) throw new ApiError(400, HTTPS_ONLY_MESSAGE);
}

/** The first element of a list between commas: each proxy adds at the end, so it tells of the caller's own connection. */
const firstListElement = (header: string | string[] | undefined) =>
  [header ?? []].flat().join(",").split(",", 1)[0]!.trim();

/** `http` of `for=192.0.2.60;proto=http;by=203.0.113.43` (RFC 7239). */
const protoOf = (element: string) => /(?:^|;) *proto *= *"?([a-z]+)"? *(?:;|$)/i.exec(element)?.[1];
