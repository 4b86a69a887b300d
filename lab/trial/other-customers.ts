import {
  findDownTime,
  findRouteDownTime,
  MAX_ATTEMPTS_AT_PLACE,
  MAX_ATTEMPTS_OVERALL,
  OUTAGE_LOOKBACK_MS,
  type OutageEvidence,
  outageWaitEnd,
  routeOf,
} from "../../src/engine/detect-outage.ts";
import type { Charge } from "../worlds/world.ts";
import { declineGroupOf } from "./policy.ts";

interface OtherCustomers {
  recordCharge(charge: Charge, customer: string): void;
  retryAllowedAt(charge: Charge, now: number): number;
}

export function createOtherCustomers(): OtherCustomers {
  const atBanks = new Map<string, OutageEvidence[]>();
  let all: OutageEvidence[] = [];
  return {
    recordCharge(charge, customer) {
      const isDown = !charge.approved && declineGroupOf(charge) === "ISSUER_DOWN";
      const attempt = { customer, at: charge.at, route: routeOf(charge), isDown };
      all = [...all, attempt].slice(-MAX_ATTEMPTS_OVERALL);
      const { cardIssuer } = charge;
      if (cardIssuer === undefined) return;
      atBanks.set(cardIssuer, [...(atBanks.get(cardIssuer) ?? []), attempt].slice(-MAX_ATTEMPTS_AT_PLACE));
    },
    retryAllowedAt(charge, now) {
      const latest = (attempts: readonly OutageEvidence[]) =>
        attempts.filter(({ at }) => now - at.getTime() < OUTAGE_LOOKBACK_MS);
      const { cardIssuer } = charge;
      const down =
        cardIssuer === undefined
          ? findRouteDownTime(latest(all), routeOf(charge), new Date(now))
          : findDownTime(latest(atBanks.get(cardIssuer) ?? []), new Date(now));
      return down === null ? 0 : outageWaitEnd(down);
    },
  };
}
