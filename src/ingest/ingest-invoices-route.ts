import type { Invoice } from "../domain/invoice.ts";
import type { Api } from "../http/api.ts";
import { ingestBatchRoute } from "./ingest-batch-route.ts";
import { INVOICE_KIND } from "./invoice-record.ts";

export function ingestInvoicesRoute(api: Api) {
  const { invoices } = api.ingest;
  ingestBatchRoute<Invoice>(api, "/ingest/v1/invoices", "ingest:invoices", INVOICE_KIND, invoices, (invoice, key) => {
    if (key.integrationType) invoice.integrationType = key.integrationType;
  });
}
