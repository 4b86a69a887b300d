/**
 * Why a payment failed, as far as the next step depends on it; most restrictive first.
 *
 * @see docs/sources.md#decline-groups
 */
export const DECLINE_GROUPS = [
  "REVOKED",
  "FRAUD",
  "HARD_CARD",
  "INVALID_DATA",
  "EXPIRED",
  "AUTH_REQUIRED",
  "LIMIT",
  "FUNDS",
  "ISSUER_DOWN",
  "GENERIC",
  "UNKNOWN",
] as const;
export type DeclineGroup = (typeof DECLINE_GROUPS)[number];

/** The same card or account must not be charged again unchanged. */
export const endsRetries = (group: DeclineGroup) =>
  DECLINE_GROUPS.indexOf(group) <= DECLINE_GROUPS.indexOf("AUTH_REQUIRED");

export const hasExpectedTime = (group: DeclineGroup) =>
  group === "LIMIT" || group === "FUNDS" || group === "ISSUER_DOWN";

export const compareRestriction = (a: DeclineGroup, b: DeclineGroup) =>
  DECLINE_GROUPS.indexOf(a) - DECLINE_GROUPS.indexOf(b);
