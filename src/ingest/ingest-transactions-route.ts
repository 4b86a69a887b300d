import type { Api } from "../http/api.ts";
import { ingestBatchRoute } from "./ingest-batch-route.ts";
import { TRANSACTION_KIND } from "./transaction-record.ts";

export function ingestTransactionsRoute(api: Api) {
  ingestBatchRoute(api, "/ingest/v1/transactions", "ingest:transactions", TRANSACTION_KIND, api.ingest.transactions);
}
