import type { Case } from "../domain/case.ts";
import type { Merchant } from "../domain/merchant.ts";
import {
  findDownTime,
  findRouteDownTime,
  MAX_ATTEMPTS_AT_PLACE,
  MAX_ATTEMPTS_OVERALL,
  OUTAGE_LOOKBACK_MS,
  type OutageEvidence,
  routeOf,
} from "../engine/detect-outage.ts";
import { findDeclineGroup } from "../engine/rules/interpret-decline.ts";
import { isUnsent } from "../engine/rules/unsent-attempts.ts";
import type { Tx } from "../postgres/database.ts";
import {
  latestAttemptsAtBanks,
  latestAttemptsOfMerchant,
  type OtherCustomerAttempt,
} from "../tables/other-customers-attempts.ts";
import { declineCodesOf, instrumentOf } from "./build-decision-facts.ts";
import { type AttemptHistory, latestRelevantAttempt } from "./card.ts";
import { paymentProfileOf } from "./payment-profile.ts";

/**
 * Finds when each card's bank was last down for any customer, if it is down now; without a named bank, the route to the banks.
 * Only the learned engine uses outages.
 *
 * @param cases  with their own attempts, oldest first
 * @returns times by case id; null or absent if no outage is known
 */
export async function loadOutages(
  tx: Tx,
  merchant: Merchant,
  cases: readonly (AttemptHistory & { case: Case })[],
  now: Date,
): Promise<Map<string, Date | null>> {
  if (merchant.engine === "static") return new Map();
  const places = cases.map((attempts) => ({
    id: attempts.case.id,
    bank: paymentProfileOf(attempts).cardIssuer || null,
    route: routeOf(latestRelevantAttempt(attempts) ?? {}),
  }));
  const banks = [...new Set(places.flatMap(({ bank }) => bank ?? []))];
  const isUnnamed = places.some(({ bank }) => bank === null);
  const since = new Date(now.getTime() - OUTAGE_LOOKBACK_MS);
  const [atBanks, all] = await Promise.all([
    banks.length === 0 ? [] : latestAttemptsAtBanks(tx, merchant.id, banks, since, now, MAX_ATTEMPTS_AT_PLACE),
    isUnnamed ? latestAttemptsOfMerchant(tx, merchant.id, since, now, MAX_ATTEMPTS_OVERALL) : [],
  ]);
  // An attempt that the gateway blocked says nothing about a bank.
  const byBank = Map.groupBy(
    atBanks.filter((t) => !isUnsent(t)),
    ({ cardIssuer }) => cardIssuer!,
  );
  const merchantEvidence = all.filter((t) => !isUnsent(t)).map(toOutageEvidence);
  // Many cases in a batch ask about the same bank.
  const banksDown = new Map(
    banks.map((bank) => [bank, findDownTime((byBank.get(bank) ?? []).map(toOutageEvidence), now)]),
  );
  const routes = new Set(places.filter(({ bank }) => bank === null).map(({ route }) => route));
  const routesDown = new Map([...routes].map((route) => [route, findRouteDownTime(merchantEvidence, route, now)]));
  return new Map(
    places.map(({ id, bank, route }) => [id, (bank === null ? routesDown.get(route) : banksDown.get(bank)) ?? null]),
  );
}

const toOutageEvidence = (t: OtherCustomerAttempt): OutageEvidence => ({
  customer: t.customerId ?? t.invoiceId,
  at: t.createdAt,
  route: routeOf(t),
  isDown: t.state === "FAILED" && findDeclineGroup(declineCodesOf(t), instrumentOf(t)) === "ISSUER_DOWN",
});
