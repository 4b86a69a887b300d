import type { IncomingMessage } from "node:http";
import { holdsCardNumber } from "../domain/card-number.ts";

const SAFE_ID = /^[A-Za-z0-9._:-]{1,128}$/;
const RESERVED_PREFIX = /^req_|dln_/i;

export const CALLER_REQUEST_ID = "x-caller-request-id";

/**
 * Returns the request id that the caller sent in `X-Request-Id`, or null. Ignores:
 *
 * - anything other than 1 to 128 characters of `A-Z a-z 0-9 . _ : -`
 * - ids that look like Dunlin's, which belong to other requests
 * - possible API keys and card numbers, because the id is stored
 */
export function callerRequestId({ headers }: Pick<IncomingMessage, "headers">): string | null {
  const given = headers["x-request-id"];
  if (typeof given !== "string" || !SAFE_ID.test(given) || RESERVED_PREFIX.test(given)) return null;
  return holdsCardNumber(given.replace(/[._:]/g, "-"), 1) ? null : given;
}
