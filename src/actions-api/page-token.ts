import { createHmac, timingSafeEqual } from "node:crypto";
import { DAY_MS } from "../domain/durations.ts";
import type { Cursor, ListingOrder } from "../tables/actions-list/action-listing.ts";
import type { SecretKeys } from "../tables/secret-box.ts";

export interface PageWalk {
  /** As sent by the caller, with times in UTC. */
  filters: Record<string, string>;
  orderBy: ListingOrder;
  direction: "asc" | "desc";
  cursor: Cursor;
  /** Counted on the first page. */
  total: number;
}

const TOKEN_LIFE_MS = DAY_MS;
const TOKEN_PATTERN = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/;

/** A separate key, or those derived from the installation's secret keys. */
export type TokenKey = Buffer | "default";

/** The first key signs; all verify. */
export const pageTokenKeys = (configuredKeys: readonly TokenKey[], secretKeys: SecretKeys): Buffer[] =>
  configuredKeys.flatMap((key) =>
    key === "default" ? secretKeys.map((each) => createHmac("sha256", each).update("page token").digest()) : key,
  );

/** Valid for one merchant and 24 hours of real time. */
export function signPageToken(keys: readonly Buffer[], merchantId: string, walk: PageWalk, realNow: Date): string {
  const payload = Buffer.from(JSON.stringify({ ...walk, issuedAt: realNow.getTime() })).toString("base64url");
  return `${payload}.${signature(keys[0]!, merchantId, payload)}`;
}

/** null if forged, expired or another merchant's. */
export function readPageToken(
  keys: readonly Buffer[],
  merchantId: string,
  token: string,
  realNow: Date,
): PageWalk | null {
  const [, payload, tokenSignature] = TOKEN_PATTERN.exec(token) ?? [];
  if (payload === undefined || tokenSignature === undefined) return null;
  const signatureBytes = Buffer.from(tokenSignature);
  const isSignedBy = (key: Buffer) => timingSafeEqual(signatureBytes, Buffer.from(signature(key, merchantId, payload)));
  if (!keys.some(isSignedBy)) return null;
  const { issuedAt, ...walk } = JSON.parse(Buffer.from(payload, "base64url").toString()) as PageWalk & {
    issuedAt: number;
  };
  return realNow.getTime() - issuedAt < TOKEN_LIFE_MS ? walk : null;
}

// Covers the purpose and its version, so that no other token is accepted.
const signature = (key: Buffer, merchantId: string, payload: string) =>
  createHmac("sha256", key).update(`recovery_actions/1\n${merchantId}\n${payload}`).digest("base64url");
