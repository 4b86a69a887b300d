import { nullsToUndefined, selectList } from "../postgres/batch-sql.ts";
import { prepared, type Tx } from "../postgres/database.ts";
import { TRANSACTION_COLUMNS, type TransactionFacts } from "./transactions.ts";

const FIELDS = [
  ...(["paymentMethodType", "cardBrand", "networkDeclineCode", "networkAdviceCode", "declineCategory"] as const),
  ...(["paymentGatewayName", "paymentGatewayType", "paymentGatewayErrorCode"] as const),
] as const;

export interface DeclineCodeCount extends Pick<TransactionFacts, (typeof FIELDS)[number]> {
  declines: number;
  lastAt: Date;
}

const READ_FIELDS: readonly string[] = FIELDS;
const COLUMNS = TRANSACTION_COLUMNS.filter(([, , field]) => READ_FIELDS.includes(field));

export const ATTEMPTS_MAX = 20_000;
const ROWS_MAX = 2_000;

const COUNT_DECLINE_CODES = prepared(
  "coded_declines",
  `select ${selectList(COLUMNS)}, count(*)::int4 as declines, max(created_at) as "lastAt"
   from (select * from transactions where merchant_id = $1 and created_at > $2 and state <> 'PENDING'
     order by created_at desc, id desc limit ${ATTEMPTS_MAX}) latest
   where state = 'FAILED' and coalesce(payment_gateway_error_code, network_decline_code, network_advice_code) is not null
   group by ${COLUMNS.map(([name]) => name).join(", ")}
   order by declines desc, "lastAt" desc limit ${ROWS_MAX}`,
);

/** Latest attempts only. Most frequent first. */
export async function countDeclineCodes(tx: Tx, merchantId: string, since: Date): Promise<DeclineCodeCount[]> {
  return (await tx.run<DeclineCodeCount>(COUNT_DECLINE_CODES, [merchantId, since])).rows.map(nullsToUndefined);
}
