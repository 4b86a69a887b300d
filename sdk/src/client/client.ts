import { createIngest, type Ingest } from "./ingest.ts";
import { createRecoveryActions, type RecoveryActions } from "./recovery-actions.ts";
import { createRequest, type RequestOptions } from "./request.ts";
import { httpsTransport, type Transport } from "./transport.ts";

export interface ClientOptions extends RequestOptions {
  /** PEM of the authority that signed Dunlin's certificate, when it is not a public one. */
  ca?: string | Buffer | undefined;
  /** Another way to send requests; `ca` is not used then. */
  transport?: Transport;
}

/**
 * Dunlin's API. Requests keep to the limits over all calls of one client, are repeated on 429, 5xx and when there is no
 * answer, and end in a `DunlinError` or, when a signal was aborted, in its reason.
 */
export interface Client {
  ingest: Ingest;
  recoveryActions: RecoveryActions;
  /** Lets idle connections go. */
  close(): void;
}

/** @throws TypeError when `baseUrl` is not https, or another option is nothing that can be meant */
export function createClient(options: ClientOptions): Client {
  const transport = options.transport ?? httpsTransport({ ca: options.ca, connectionsMax: options.inFlightMax ?? 5 });
  const request = createRequest(options, transport);
  return {
    ingest: createIngest(request, options.inFlightMax ?? 5),
    recoveryActions: createRecoveryActions(request),
    close: () => transport.close(),
  };
}
