import type { Api } from "../http/api.ts";
import { ingestBatchRoute } from "./ingest-batch-route.ts";
import { INVOICE_KIND } from "./invoice-record.ts";

export function ingestInvoicesRoute(api: Api) {
  ingestBatchRoute(api, "/ingest/v1/invoices", "ingest:invoices", INVOICE_KIND, api.ingest.invoices);
}
