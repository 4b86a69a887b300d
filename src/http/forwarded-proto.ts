import type { IncomingMessage } from "node:http";
import { ApiError } from "./errors.ts";

const HTTPS_ONLY_MESSAGE =
  "this service accepts HTTPS only: use https:// in the URL (the proxy reports that this request arrived over http)";

/** Refuses a request if the TLS-terminating proxy reports that it arrived over plain HTTP. */
export function refuseForwardedHttp({ headers }: Pick<IncomingMessage, "headers">) {
  const protos = [firstListElement(headers["x-forwarded-proto"]), protoOf(firstListElement(headers.forwarded))];
  if (protos.some((proto) => proto?.toLowerCase() === "http")) throw new ApiError(400, HTTPS_ONLY_MESSAGE);
}

/** Proxies append, so the first element describes the client's own connection. */
const firstListElement = (header: string | string[] | undefined) =>
  [header ?? []].flat().join(",").split(",", 1)[0]!.trim();

/** Returns `http` for `for=192.0.2.60;proto=http` (RFC 7239). */
const protoOf = (element: string) => /(?:^|;) *proto *= *"?([a-z]+)"? *(?:;|$)/i.exec(element)?.[1];
