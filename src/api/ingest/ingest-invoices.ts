import type { Api } from "../api.ts";
import { ingestBatchRoute } from "./ingest-batch.ts";
import { INVOICES } from "./invoice.ts";

/** POST /ingest/v1/invoices: store a batch of invoices, all of it or none. */
export function ingestInvoicesRoute(api: Api) {
  ingestBatchRoute(api, "/ingest/v1/invoices", "ingest:invoices", INVOICES, api.ingest.invoices);
}
