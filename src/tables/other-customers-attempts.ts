import { nullsToUndefined, selectList } from "../postgres/batch-sql.ts";
import { encodeTextArray } from "../postgres/binary-array.ts";
import { prepared, type Tx } from "../postgres/database.ts";
import { TRANSACTION_COLUMNS, type TransactionFacts } from "./transactions.ts";

const FIELDS = [
  ...(["invoiceId", "customerId", "state", "createdAt", "cardIssuer"] as const),
  ...(["paymentMethodType", "cardBrand", "cardCountry"] as const),
  ...(["networkDeclineCode", "networkAdviceCode", "declineCategory"] as const),
  ...(["paymentGatewayName", "paymentGatewayType", "paymentGatewayStatus", "paymentGatewayErrorCode"] as const),
] as const;

/** What is looked at of others' attempts: who was charged, by which way, and what came of it. */
export type OtherCustomerAttempt = Pick<TransactionFacts, (typeof FIELDS)[number]>;

const READ_FIELDS: readonly string[] = FIELDS;
const LATEST = `select ${selectList(TRANSACTION_COLUMNS.filter(([, , field]) => READ_FIELDS.includes(field)))} from transactions
  where merchant_id = $1 and created_at > $2 and created_at <= $3 and state <> 'PENDING'`;
const LIMIT = "order by created_at desc, id desc limit $4";

const AT_BANKS = prepared(
  "latest_attempts_at_banks",
  `select latest.* from unnest($5::text[]) bank cross join lateral (${LATEST} and card_issuer = bank ${LIMIT}) latest`,
);
const OF_ALL = prepared("latest_attempts_of_all", `${LATEST} ${LIMIT}`);

/** For each of these banks the `most` latest attempts there that ended, later than `since` and until `now`, whoever the customer. */
export async function latestAttemptsAtBanks(
  tx: Tx,
  merchantId: string,
  banks: readonly string[],
  since: Date,
  now: Date,
  most: number,
): Promise<OtherCustomerAttempt[]> {
  const values = [merchantId, since, now, most, encodeTextArray(banks, "text")];
  return (await tx.run<OtherCustomerAttempt>(AT_BANKS, values)).rows.map(nullsToUndefined);
}

/** The merchant's `most` latest attempts that ended, later than `since` and until `now`, whoever the customer. */
export async function latestAttemptsOfMerchant(tx: Tx, merchantId: string, since: Date, now: Date, most: number) {
  return (await tx.run<OtherCustomerAttempt>(OF_ALL, [merchantId, since, now, most])).rows.map(nullsToUndefined);
}
