import { prepared, type Tx } from "../postgres/database.ts";
import type { TransactionFacts } from "./transactions.ts";

/** What tells why an attempt failed. */
export type LastDecline = Pick<
  TransactionFacts,
  | "paymentMethodType"
  | "cardBrand"
  | "cardCountry"
  | "networkDeclineCode"
  | "networkAdviceCode"
  | "declineCategory"
  | "paymentGatewayErrorCode"
  | "paymentGatewayName"
  | "paymentGatewayType"
>;

// `offset 0`: the order must not tempt the planner to walk all of the merchant's attempts by time.
const LAST_DECLINES = prepared(
  "last_declines",
  `select i.id as "invoiceId", t.*
   from unnest($2::text[]) as i (id)
   cross join lateral (
     select payment_method_type as "paymentMethodType", card_brand as "cardBrand", card_country as "cardCountry",
       network_decline_code as "networkDeclineCode", network_advice_code as "networkAdviceCode",
       decline_category as "declineCategory", payment_gateway_error_code as "paymentGatewayErrorCode",
       payment_gateway_name as "paymentGatewayName", payment_gateway_type as "paymentGatewayType"
     from (
       select * from transactions
       where merchant_id = $1 and invoice_id = i.id and state = 'FAILED' and amount > 0 offset 0
     ) failed
     order by created_at desc, id desc limit 1
   ) t`,
);

/** The latest failed attempt on each invoice; without an entry none failed. */
export async function findLastDeclines(tx: Tx, merchantId: string, invoiceIds: readonly string[]) {
  if (invoiceIds.length === 0) return new Map<string, LastDecline>();
  const { rows } = await tx.run<LastDecline & { invoiceId: string }>(LAST_DECLINES, [merchantId, invoiceIds]);
  return new Map<string, LastDecline>(rows.map((row) => [row.invoiceId, row]));
}
