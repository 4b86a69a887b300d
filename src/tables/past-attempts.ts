import type { PastAttempt } from "../domain/past-attempt.ts";
import { prepared, type Tx } from "../postgres/database.ts";

/** Pushed or imported. Its propensity is unknown. */
export interface StoredAttempt extends PastAttempt {
  id: string;
  /** `gatewayCode` is as this gateway wrote it. */
  gateway: string | null;
  gatewayType: string | null;
  gatewayStatus: string | null;
}

const SELECT = `select id, invoice_id as "invoiceId", coalesce(customer_id, invoice_id) as "customerId", created_at as at,
     state <> 'FAILED' as approved, initiator, amount, currency, null as chance, network_decline_code as "networkDeclineCode",
     network_advice_code as "networkAdviceCode", payment_gateway_error_code as "gatewayCode",
     payment_gateway_status as "gatewayStatus",
     payment_gateway_name as gateway, payment_gateway_type as "gatewayType", decline_category as "declineCategory",
     payment_method_type as "paymentMethodType", card_brand as "cardBrand", card_country as "cardCountry",
     lower(card_funding) as "cardFunding", card_issuer as "cardIssuer",
     coalesce(card_fingerprint, payment_method_id) as "cardFingerprint", customer_timezone as "customerTimezone"
   from transactions`;

const LAST = prepared(
  "last_past_attempts",
  `${SELECT}
   where merchant_id = $1 and state not in ('PENDING', 'VOIDED') and amount > 0
   order by invoice_id desc, created_at desc, id desc limit $2`,
);
const BEFORE = prepared(
  "past_attempts_before",
  `${SELECT}
   where merchant_id = $1 and state not in ('PENDING', 'VOIDED') and amount > 0
     and (invoice_id, created_at, id) < ($3, $4, $5)
   order by invoice_id desc, created_at desc, id desc limit $2`,
);

/**
 * By invoice in descending order of ids, newest first.
 *
 * @param after  null starts from the beginning
 */
export async function readAttemptsAfter(tx: Tx, merchantId: string, after: StoredAttempt | null, limit: number) {
  const values = [merchantId, limit];
  const read = after
    ? tx.run<StoredAttempt>(BEFORE, [...values, after.invoiceId, after.at, after.id])
    : tx.run<StoredAttempt>(LAST, values);
  return (await read).rows;
}
