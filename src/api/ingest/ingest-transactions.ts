import type { Api } from "../api.ts";
import { ingestBatchRoute } from "./ingest-batch.ts";
import { TRANSACTIONS } from "./transaction.ts";

/** POST /ingest/v1/transactions: store a batch of transactions, all of it or none. */
export function ingestTransactionsRoute(api: Api) {
  ingestBatchRoute(api, "/ingest/v1/transactions", "ingest:transactions", TRANSACTIONS, api.ingest.transactions);
}
