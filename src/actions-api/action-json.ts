import type { ListedAction } from "../tables/actions-list/action-list.ts";
import { STATUS_PREFIX, TYPE_PREFIX } from "./list-query.ts";

/** JSON.stringify omits undefined values. */
export const toActionJson = (action: ListedAction) => ({
  id: action.id,
  subscriptionId: action.subscriptionId ?? undefined,
  invoiceId: action.invoiceId,
  customerId: action.customerId,
  transactionId: action.transactionId ?? undefined,
  paymentMethodType: action.paymentMethodType ?? undefined,
  cardCountry: action.cardCountry ?? undefined,
  currency: action.currency,
  amountDue: action.amountDue ?? undefined,
  type: TYPE_PREFIX + action.type,
  status: STATUS_PREFIX + action.status,
  integrationType: `INTEGRATION_TYPE_${action.integrationType}`,
  createdAt: action.createdAt,
  executedAt: action.executedAt ?? undefined,
  updatedAt: action.updatedAt,
  actionSuggestion: `ACTION_SUGGESTION_${action.actionSuggestion}`,
  idealRetryTime: action.idealRetryTime,
  attemptedAt: action.attemptedAt ?? undefined,
  reasons: action.reasons,
});
