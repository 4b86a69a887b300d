import {
  downAt,
  LATEST_MS,
  LATEST_OF_ALL,
  LATEST_THERE,
  type OthersAttempt,
  wayDownAt,
  wayOf,
} from "../decisions/outage.ts";
import type { Case } from "../domain/case.ts";
import type { Merchant } from "../domain/merchant.ts";
import { declineGroup } from "../rules/decline-group.ts";
import { isUnsent } from "../rules/unsent.ts";
import type { Tx } from "../store/database.ts";
import { type AttemptOfOthers, latestAtBanks, latestOfAll } from "../store/others-attempts.ts";
import { type Attempts, latestAttempt } from "./card.ts";
import { codesOf, instrumentOf } from "./known.ts";
import { payerOf } from "./payer.ts";

/**
 * When the bank of each case's card was found down last, by whoever, if it is down now; where none is named, the way to banks. Only the learned engine heeds it.
 *
 * @param cases  with their own attempts, oldest first
 * @returns by the cases' ids; null, or none: no outage is known
 */
export async function outagesOf(
  tx: Tx,
  merchant: Merchant,
  cases: readonly (Attempts & { case: Case })[],
  now: Date,
): Promise<Map<string, Date | null>> {
  if (merchant.engine === "static") return new Map();
  const asked = cases.map((attempts) => ({
    id: attempts.case.id,
    bank: payerOf(attempts).cardIssuer || null,
    way: wayOf(latestAttempt(attempts) ?? {}),
  }));
  const banks = [...new Set(asked.flatMap(({ bank }) => bank ?? []))];
  const isUnnamed = asked.some(({ bank }) => bank === null);
  const since = new Date(now.getTime() - LATEST_MS);
  const [atBanks, all] = await Promise.all([
    banks.length === 0 ? [] : latestAtBanks(tx, merchant.id, banks, since, now, LATEST_THERE),
    isUnnamed ? latestOfAll(tx, merchant.id, since, now, LATEST_OF_ALL) : [],
  ]);
  // What its gateway blocked says nothing of a bank.
  const byBank = Map.groupBy(
    atBanks.filter((t) => !isUnsent(t)),
    ({ cardIssuer }) => cardIssuer!,
  );
  const ofAll = all.filter((t) => !isUnsent(t)).map(othersAttempt);
  // Many cases of a batch ask about one place.
  const banksDown = new Map(banks.map((bank) => [bank, downAt((byBank.get(bank) ?? []).map(othersAttempt), now)]));
  const ways = new Set(asked.filter(({ bank }) => bank === null).map(({ way }) => way));
  const waysDown = new Map([...ways].map((way) => [way, wayDownAt(ofAll, way, now)]));
  return new Map(
    asked.map(({ id, bank, way }) => [id, (bank === null ? waysDown.get(way) : banksDown.get(bank)) ?? null]),
  );
}

const othersAttempt = (t: AttemptOfOthers): OthersAttempt => ({
  customer: t.customerId ?? t.invoiceId,
  at: t.createdAt,
  way: wayOf(t),
  isDown: t.state === "FAILED" && declineGroup(codesOf(t), instrumentOf(t)) === "ISSUER_DOWN",
});
