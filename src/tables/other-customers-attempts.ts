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

export type OtherCustomerAttempt = Pick<TransactionFacts, (typeof FIELDS)[number]>;

const READ_FIELDS: readonly string[] = FIELDS;
const SELECT = `select ${selectList(TRANSACTION_COLUMNS.filter(([, , field]) => READ_FIELDS.includes(field)))} from transactions`;

const AT_BANKS = prepared(
  "latest_attempts_at_banks",
  `select latest.*
   from unnest($5::text[]) bank
   cross join lateral (
     ${SELECT}
     where merchant_id = $1 and created_at > $2 and created_at <= $3 and state <> 'PENDING' and card_issuer = bank
     order by created_at desc, id desc limit $4
   ) latest`,
);
const OF_MERCHANT = prepared(
  "latest_attempts_of_all",
  `${SELECT}
   where merchant_id = $1 and created_at > $2 and created_at <= $3 and state <> 'PENDING'
   order by created_at desc, id desc limit $4`,
);

/** Ended attempts, up to `limit` per bank. */
export async function latestAttemptsAtBanks(
  tx: Tx,
  merchantId: string,
  banks: readonly string[],
  since: Date,
  now: Date,
  limit: number,
): Promise<OtherCustomerAttempt[]> {
  const values = [merchantId, since, now, limit, encodeTextArray(banks, "text")];
  return (await tx.run<OtherCustomerAttempt>(AT_BANKS, values)).rows.map(nullsToUndefined);
}

/** Ended attempts. */
export async function latestAttemptsOfMerchant(tx: Tx, merchantId: string, since: Date, now: Date, limit: number) {
  return (await tx.run<OtherCustomerAttempt>(OF_MERCHANT, [merchantId, since, now, limit])).rows.map(nullsToUndefined);
}
