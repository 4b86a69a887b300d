import { SOURCES } from "./sources.ts";

/** Why a payment failed, as far as what to do next depends on it; the most restrictive first. */
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

/** Groups in which the same card or account must not be tried again as it is. */
export const endsRetries = (group: DeclineGroup) =>
  DECLINE_GROUPS.indexOf(group) <= DECLINE_GROUPS.indexOf("AUTH_REQUIRED");

/** Groups that say when, and not only that, a later try may work. */
export const hasExpectedTime = (group: DeclineGroup) =>
  group === "LIMIT" || group === "FUNDS" || group === "ISSUER_DOWN";

export const compareRestriction = (a: DeclineGroup, b: DeclineGroup) =>
  DECLINE_GROUPS.indexOf(a) - DECLINE_GROUPS.indexOf(b);

/** Where the groups come from, and what follows from each. */
export const GROUPS_SOURCE = SOURCES.declineGroups;
