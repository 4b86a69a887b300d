import { createIngest, type Ingest } from "./ingest.ts";
import { createRecoveryActions, type RecoveryActions } from "./recovery-actions.ts";
import { createRequest, type RequestOptions } from "./request.ts";
import { httpsTransport, type Transport } from "./transport.ts";

export interface ClientOptions extends RequestOptions {
  /** PEM of the CA that signed Dunlin's certificate, if it is not a public one. */
  ca?: string | Buffer | undefined;
  /** Replaces the HTTPS transport; `ca` is ignored then. */
  transport?: Transport;
}

/**
 * A client of Dunlin's API. The limits apply to all calls of a client. Requests are retried on 429, 5xx and if there is no answer.
 * They reject with a `DunlinError`, or with the reason of an aborted signal.
 */
export interface Client {
  ingest: Ingest;
  recoveryActions: RecoveryActions;
  /** Closes idle connections. */
  close(): void;
}

/** @throws TypeError if `baseUrl` is not https, or another option is invalid */
export function createClient(options: ClientOptions): Client {
  const transport = options.transport ?? httpsTransport({ ca: options.ca, connectionsMax: options.inFlightMax ?? 5 });
  const request = createRequest(options, transport);
  return {
    ingest: createIngest(request, options.inFlightMax ?? 5),
    recoveryActions: createRecoveryActions(request),
    close: () => transport.close(),
  };
}
