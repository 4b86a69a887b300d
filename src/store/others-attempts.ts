import { selectList, withoutNulls } from "./batch.ts";
import { arrayOf } from "./binary-array.ts";
import { prepared, type Tx } from "./database.ts";
import { TRANSACTION_COLUMNS, type TransactionFacts } from "./transactions.ts";

const FIELDS = [
  ...(["invoiceId", "customerId", "state", "createdAt", "cardIssuer"] as const),
  ...(["paymentMethodType", "cardBrand", "cardCountry"] as const),
  ...(["networkDeclineCode", "networkAdviceCode", "declineCategory"] as const),
  ...(["paymentGatewayName", "paymentGatewayType", "paymentGatewayStatus", "paymentGatewayErrorCode"] as const),
] as const;

/** What is looked at of others' attempts: who was charged, by which way, and what came of it. */
export type AttemptOfOthers = Pick<TransactionFacts, (typeof FIELDS)[number]>;

const READ: readonly string[] = FIELDS;
const LATEST = `select ${selectList(TRANSACTION_COLUMNS.filter(([, , field]) => READ.includes(field)))} from transactions
  where merchant_id = $1 and created_at > $2 and created_at <= $3 and state <> 'PENDING'`;
const LIMIT = "order by created_at desc, id desc limit $4";

const AT_BANKS = prepared(
  "latest_attempts_at_banks",
  `select latest.* from unnest($5::text[]) bank cross join lateral (${LATEST} and card_issuer = bank ${LIMIT}) latest`,
);
const OF_ALL = prepared("latest_attempts_of_all", `${LATEST} ${LIMIT}`);

/** For each of these banks the `most` latest attempts there that ended, later than `since` and until `now`, whoever the customer. */
export async function latestAtBanks(
  tx: Tx,
  merchantId: string,
  banks: readonly string[],
  since: Date,
  now: Date,
  most: number,
): Promise<AttemptOfOthers[]> {
  const values = [merchantId, since, now, most, arrayOf(banks, "text")];
  return (await tx.run<AttemptOfOthers>(AT_BANKS, values)).rows.map(withoutNulls);
}

/** The merchant's `most` latest attempts that ended, later than `since` and until `now`, whoever the customer. */
export async function latestOfAll(tx: Tx, merchantId: string, since: Date, now: Date, most: number) {
  return (await tx.run<AttemptOfOthers>(OF_ALL, [merchantId, since, now, most])).rows.map(withoutNulls);
}
