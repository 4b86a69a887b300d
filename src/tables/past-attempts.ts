import type { PastAttempt } from "../domain/past-attempt.ts";
import { prepared, type Tx } from "../postgres/database.ts";

/** Read from what was pushed: nobody knows with which chance the merchant's own system chose. */
export interface StoredAttempt extends PastAttempt {
  id: string;
  /** What the gateway is called; `gatewayCode` is as it wrote it. */
  gateway: string | null;
  gatewayType: string | null;
  gatewayStatus: string | null;
}

const pageStatement = (name: string, rest: string) =>
  prepared(
    name,
    `select id, invoice_id as "invoiceId", coalesce(customer_id, invoice_id) as "customerId", created_at as at,
     state <> 'FAILED' as approved, initiator, amount, currency, null as chance, network_decline_code as "networkDeclineCode",
     network_advice_code as "networkAdviceCode", payment_gateway_error_code as "gatewayCode",
     payment_gateway_status as "gatewayStatus",
     payment_gateway_name as gateway, payment_gateway_type as "gatewayType", decline_category as "declineCategory",
     payment_method_type as "paymentMethodType", card_brand as "cardBrand", card_country as "cardCountry",
     lower(card_funding) as "cardFunding", card_issuer as "cardIssuer",
     coalesce(card_fingerprint, payment_method_id) as "cardFingerprint", customer_timezone as "customerTimezone"
   from transactions
   where merchant_id = $1 and state not in ('PENDING', 'VOIDED') and amount > 0 ${rest}`,
  );
const LAST = pageStatement("last_past_attempts", "order by invoice_id desc, created_at desc, id desc limit $2");
const BEFORE = pageStatement(
  "past_attempts_before",
  "and (invoice_id, created_at, id) < ($3, $4, $5) order by invoice_id desc, created_at desc, id desc limit $2",
);

/** Attempts, those of an invoice together and newest first, the invoices whose ids come last first: ids mostly count up. `after`: what was read last; null: from there. */
export async function readAttemptsAfter(tx: Tx, merchantId: string, after: StoredAttempt | null, limit: number) {
  const values = [merchantId, limit];
  const read = after
    ? tx.run<StoredAttempt>(BEFORE, [...values, after.invoiceId, after.at, after.id])
    : tx.run<StoredAttempt>(LAST, values);
  return (await read).rows;
}
