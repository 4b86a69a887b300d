import type { PastAttempt } from "../domain/past-attempt.ts";
import { prepared, type Tx } from "./database.ts";

/** Read from what was pushed: nobody knows with which chance the merchant's own system chose. */
export interface StoredAttempt extends PastAttempt {
  id: string;
  /** What the gateway is called; `gatewayCode` is as it wrote it. */
  gateway: string | null;
}

const AFTER = prepared(
  "past_attempts",
  `select id, invoice_id as "invoiceId", coalesce(customer_id, invoice_id) as "customerId", created_at as at,
     state <> 'FAILED' as approved, initiator, amount, currency, null as chance, network_decline_code as "networkDeclineCode",
     network_advice_code as "networkAdviceCode", payment_gateway_error_code as "gatewayCode",
     nullif(concat_ws(' ', payment_gateway_name, payment_gateway_type), '') as gateway, decline_category as "declineCategory",
     payment_method_type as "paymentMethodType", card_brand as "cardBrand", card_country as "cardCountry",
     lower(card_funding) as "cardFunding", card_issuer as "cardIssuer",
     coalesce(card_fingerprint, payment_method_id) as "cardFingerprint", customer_timezone as "customerTimezone"
   from transactions
   where merchant_id = $1 and (invoice_id, created_at, id) > ($2, $3, $4) and state not in ('PENDING', 'VOIDED') and amount > 0
   order by invoice_id, created_at, id limit $5`,
);
const BEGINNING = { invoiceId: "", at: new Date(0), id: "" };

/** The attempts that come after `last`, those of an invoice together; null: from the beginning. */
export async function attemptsAfter(tx: Tx, merchantId: string, last: StoredAttempt | null, limit: number) {
  const { invoiceId, at, id } = last ?? BEGINNING;
  return (await tx.run<StoredAttempt>(AFTER, [merchantId, invoiceId, at, id, limit])).rows;
}
