import type { RecoveryAction } from "../domain/recovery-action.ts";
import type { Transaction } from "../domain/transaction.ts";
import { prepared, type Tx } from "../postgres/database.ts";

export type ShownTransaction = Pick<Transaction, "id" | "state" | "amount" | "currency" | "createdAt"> & {
  [Field in
    | "paymentMethodType"
    | "cardBrand"
    | "cardLast4"
    | "networkDeclineCode"
    | "networkAdviceCode"
    | "paymentGatewayErrorCode"
    | "paymentGatewayErrorMessage"
    | "initiator"
    | "recoveryActionId"]: string | null;
};

const TRANSACTIONS = prepared(
  "transactions_of_invoice",
  `select id, state, amount, currency, created_at as "createdAt", payment_method_type as "paymentMethodType", card_brand as "cardBrand",
     card_last4 as "cardLast4", network_decline_code as "networkDeclineCode", network_advice_code as "networkAdviceCode",
     payment_gateway_error_code as "paymentGatewayErrorCode", payment_gateway_error_message as "paymentGatewayErrorMessage",
     initiator, recovery_action_id as "recoveryActionId"
   from transactions where merchant_id = $1 and invoice_id = $2 order by created_at desc, id limit $3`,
);

export async function transactionsOfInvoice(tx: Tx, merchantId: string, invoiceId: string, limit: number) {
  return (await tx.run<ShownTransaction>(TRANSACTIONS, [merchantId, invoiceId, limit])).rows;
}

export type ShownAction = Pick<
  RecoveryAction,
  | "id"
  | "type"
  | "status"
  | "actionSuggestion"
  | "idealRetryTime"
  | "reasons"
  | "decidedAt"
  | "executedAt"
  | "attemptedAt"
  | "createdAt"
>;

const ACTIONS = prepared(
  "actions_of_invoice",
  `select id, type, status, action_suggestion as "actionSuggestion", ideal_retry_time as "idealRetryTime", reasons,
     decided_at as "decidedAt", executed_at as "executedAt", attempted_at as "attemptedAt", created_at as "createdAt"
   from recovery_actions
   where merchant_id = $1 and case_id = any(array(select id from cases where merchant_id = $1 and invoice_id = $2))
   order by created_at desc, id limit $3`,
);

export async function actionsOfInvoice(tx: Tx, merchantId: string, invoiceId: string, limit: number) {
  return (await tx.run<ShownAction>(ACTIONS, [merchantId, invoiceId, limit])).rows;
}
