import {
  downAt,
  LATEST_MS,
  LATEST_OF_ALL,
  LATEST_THERE,
  type OthersAttempt,
  upAgainAt,
  wayDownAt,
  wayOf,
} from "../../src/decisions/outage.ts";
import type { Charge } from "../worlds/world.ts";
import { groupOf } from "./policy.ts";

/** What all customers' charges met, as the service reads it of their attempts. */
interface Others {
  note(charge: Charge, customer: string): void;
  /** From when on a charge may be made again, as far as was seen until `now`; 0: at any time. */
  triableAt(charge: Charge, now: number): number;
}

/** Of nobody yet. */
export function createOthers(): Others {
  const atBanks = new Map<string, OthersAttempt[]>();
  let all: OthersAttempt[] = [];
  return {
    note(charge, customer) {
      const isDown = !charge.approved && groupOf(charge) === "ISSUER_DOWN";
      const attempt = { customer, at: charge.at, way: wayOf(charge), isDown };
      all = [...all, attempt].slice(-LATEST_OF_ALL);
      const { cardIssuer } = charge;
      if (cardIssuer === undefined) return;
      atBanks.set(cardIssuer, [...(atBanks.get(cardIssuer) ?? []), attempt].slice(-LATEST_THERE));
    },
    triableAt(charge, now) {
      const latest = (attempts: readonly OthersAttempt[]) =>
        attempts.filter(({ at }) => now - at.getTime() < LATEST_MS);
      const { cardIssuer } = charge;
      const down =
        cardIssuer === undefined
          ? wayDownAt(latest(all), wayOf(charge), new Date(now))
          : downAt(latest(atBanks.get(cardIssuer) ?? []), new Date(now));
      return down === null ? 0 : upAgainAt(down);
    },
  };
}
