import { createHmac, timingSafeEqual } from "node:crypto";
import { DAY_MS } from "../domain/durations.ts";
import type { Cursor, ListingOrder } from "../tables/actions-list/action-listing.ts";
import type { SecretKeys } from "../tables/secret-box.ts";

/** The state of a walk over the pages. Filters are kept as the caller wrote them, times in UTC. */
export interface PageWalk {
  filters: Record<string, string>;
  orderBy: ListingOrder;
  direction: "asc" | "desc";
  cursor: Cursor;
  /** Counted once, on the first page. */
  total: number;
}

const TOKEN_LIFE_MS = DAY_MS;
const TOKEN_PATTERN = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/;

/** A key of its own, or those that follow from the secret keys of the installation. */
export type TokenKey = Buffer | "default";

/** The keys of page tokens, the same in every replica: the first signs, each opens. Several secret keys make as many. */
export const pageTokenKeys = (given: readonly TokenKey[], secretKeys: SecretKeys): Buffer[] =>
  given.flatMap((key) =>
    key === "default" ? secretKeys.map((each) => createHmac("sha256", each).update("page token").digest()) : key,
  );

/** An opaque text that only we can make, good for one merchant and for 24 hours of real time. */
export function signPageToken(keys: readonly Buffer[], merchantId: string, walk: PageWalk, realNow: Date): string {
  const payload = Buffer.from(JSON.stringify({ ...walk, issuedAt: realNow.getTime() })).toString("base64url");
  return `${payload}.${signature(keys[0]!, merchantId, payload)}`;
}

/** The walk that a token stands for, or null when it is not ours, another merchant's, changed or too old. */
export function readPageToken(
  keys: readonly Buffer[],
  merchantId: string,
  token: string,
  realNow: Date,
): PageWalk | null {
  const [, payload, signed] = TOKEN_PATTERN.exec(token) ?? [];
  if (payload === undefined || signed === undefined) return null;
  const given = Buffer.from(signed);
  if (!keys.some((key) => timingSafeEqual(given, Buffer.from(signature(key, merchantId, payload))))) return null;
  const { issuedAt, ...walk } = JSON.parse(Buffer.from(payload, "base64url").toString()) as PageWalk & {
    issuedAt: number;
  };
  return realNow.getTime() - issuedAt < TOKEN_LIFE_MS ? walk : null;
}

// The purpose and its version are signed too: a token of another kind or an older shape is never taken for one of these.
const signature = (key: Buffer, merchantId: string, payload: string) =>
  createHmac("sha256", key).update(`recovery_actions/1\n${merchantId}\n${payload}`).digest("base64url");
