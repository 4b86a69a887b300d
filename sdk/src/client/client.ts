import { type AnalyticsRequests, createAnalytics } from "./analytics.ts";
import { type AttentionRequests, createAttention } from "./attention.ts";
import { createIngest, type Ingest } from "./ingest.ts";
import { createInvoices, type Invoices } from "./invoices.ts";
import { createRecoveryActions, type RecoveryActions } from "./recovery-actions.ts";
import { createRecoveryRules, type RecoveryRules } from "./recovery-rules.ts";
import { createRequest, type RequestOptions } from "./request.ts";
import { httpsTransport, type Transport } from "./transport.ts";

export interface ClientOptions extends RequestOptions {
  /** PEM of the CA that signed Dunlin's certificate, if it is not public. */
  ca?: string | Buffer | undefined;
  /** Replaces the HTTPS transport; `ca` is ignored then. */
  transport?: Transport;
}

/**
 * A client of Dunlin's API. Its limits apply to all calls together. Requests are retried on 429, 5xx and without an answer. They
 * reject with a `DunlinError`, or with an aborted signal's reason.
 */
export interface Client {
  ingest: Ingest;
  recoveryActions: RecoveryActions;
  invoices: Invoices;
  recoveryRules: RecoveryRules;
  attention: AttentionRequests;
  analytics: AnalyticsRequests;
  /** Closes idle connections. */
  close(): void;
}

/** @throws TypeError if an option is invalid, such as a `baseUrl` that is not https */
export function createClient(options: ClientOptions): Client {
  const transport = options.transport ?? httpsTransport({ ca: options.ca, connectionsMax: options.inFlightMax ?? 5 });
  const request = createRequest(options, transport);
  return {
    ingest: createIngest(request, options.inFlightMax ?? 5),
    recoveryActions: createRecoveryActions(request),
    invoices: createInvoices(request),
    recoveryRules: createRecoveryRules(request),
    attention: createAttention(request),
    analytics: createAnalytics(request),
    close: () => transport.close(),
  };
}
