import type { Api } from "../http/api.ts";
import { ingestBatchRoute } from "./ingest-batch-route.ts";
import { TRANSACTION_KIND } from "./transaction-record.ts";

/** POST /ingest/v1/transactions: stores all transactions of a batch or none. */
export function ingestTransactionsRoute(api: Api) {
  ingestBatchRoute(api, "/ingest/v1/transactions", "ingest:transactions", TRANSACTION_KIND, api.ingest.transactions);
}
