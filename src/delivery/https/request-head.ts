import { readFileSync } from "node:fs";
import { maskAuthorization } from "./credential.ts";
import type { OutgoingRequest } from "./https-sender.ts";

const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

export const USER_AGENT = `Dunlin/${version.split(".", 2).join(".")}`;

/** Alternating name and value. */
export function buildHeaders({
  authorization,
  signature,
  traceparent,
}: Pick<OutgoingRequest, "authorization" | "signature" | "traceparent">): string[] {
  const headers = ["content-type", "application/json", "user-agent", USER_AGENT];
  if (authorization !== null) headers.push("authorization", authorization);
  if (signature) headers.push(...signature);
  if (traceparent) headers.push("traceparent", traceparent);
  return headers;
}

const MASK = "[redacted]";

/** As lines, with credential and signature masked. */
export function maskedHeaders(authorization: string | null, signed: boolean): string[] {
  const signature = [
    "webhook-id",
    "the event's id",
    "webhook-timestamp",
    "the attempt's start",
    "webhook-signature",
    `v1,${MASK}`,
  ];
  const masked = authorization === null ? null : maskAuthorization(authorization);
  const headers = buildHeaders({ authorization: masked, signature: signed ? signature : null });
  return headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []));
}
