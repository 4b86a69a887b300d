import type { IncomingMessage } from "node:http";
import { holdsCardNumber } from "../domain/card-number.ts";

const SAFE_ID = /^[A-Za-z0-9._:-]{1,128}$/;
/** What only we hand out: a request's id, and an API key that somebody put into the wrong field. */
const RESERVED_PREFIX = /^req_|dln_/i;

/** The field that repeats to a caller the id that it gave to its request. */
export const CALLER_REQUEST_ID = "x-caller-request-id";

/**
 * The id that a caller gave to its request in `X-Request-Id`, or null. One that is not 1 to 128 of `A-Z a-z 0-9 . _ : -` is passed
 * over, never refused; so is what looks like one of ours, because nothing shows that it is the id of this request, and what might be a
 * key or a card number, because it will be stored.
 */
export function callerRequestId({ headers }: Pick<IncomingMessage, "headers">): string | null {
  const given = headers["x-request-id"];
  if (typeof given !== "string" || !SAFE_ID.test(given) || RESERVED_PREFIX.test(given)) return null;
  // Points, colons and underscores set groups apart as well as hyphens do.
  return holdsCardNumber(given.replace(/[._:]/g, "-"), 1) ? null : given;
}
