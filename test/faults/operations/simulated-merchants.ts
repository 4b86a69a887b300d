import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type Invoice, type Transaction } from "#sdk";
import { createApiKey } from "../../../src/auth/api-keys.ts";
import type { Ports } from "../../../src/domain/ports.ts";
import { createMerchant } from "../../../src/merchants/merchant-settings.ts";
import type { Database } from "../../../src/postgres/database.ts";
import type { SecretKeys } from "../../../src/tables/secret-box.ts";
import { startTlsEndpoint } from "../../tls-endpoint.ts";

/** The first arrival of an event; `at` is real time. */
export interface Arrival {
  at: number;
  type: string;
  invoiceId: string;
  /** Service time in milliseconds; null: none. */
  idealAt: number | null;
}

/** The records that merchants pushed, and the events that arrived at their endpoints. */
export interface Merchants {
  /** By event. */
  arrivals: Map<string, Arrival>;
  /** When the `pause_collection` of each invoice arrived. */
  pausedAt: Map<string, number>;
  /** When an invoice, with its failed attempt, was acknowledged; real time. */
  acknowledgedAt: Map<string, number>;
  merchantIds: readonly string[];
  /** Whether every merchant has an invoice acknowledged at or after `at` whose event has arrived. */
  goesOn(at: number): boolean;
  /** Forces new connections. */
  cutConnections(): void;
  /** Stops new invoices; resolves when all started pushes are acknowledged. */
  stop(): Promise<void>;
  close(): void;
}

interface Options {
  count: number;
  /** Real milliseconds between two invoices of one merchant. */
  everyMs: number;
  db: Database;
  ports: Ports;
  secretKeys: SecretKeys;
  tls: { cert: string; key: string };
  broken(invariant: string, says: string): void;
}

interface OpenedMerchants {
  port: number;
  /** Begins to push to these addresses. */
  begin(baseUrls: readonly string[], ca: string): Promise<Merchants>;
}

interface WebhookBody {
  id: string;
  type: string;
  data: { invoiceId: string; idealRetryTime?: string };
}

/** Opens the merchants' endpoint. */
export async function openMerchants(options: Options): Promise<OpenedMerchants> {
  const { broken } = options;
  const arrivals = new Map<string, Arrival>();
  const bodies = new Map<string, string>();
  const pausedAt = new Map<string, number>();
  const sockets = new Set<{ destroy(): void }>();
  const endpoint = await startTlsEndpoint(options.tls, 60_000, (request, response, text) => {
    sockets.add(request.socket);
    // `dunlin doctor` checks whether the endpoint answers.
    if (text === "{}") return void response.writeHead(400).end();
    const { id, type, data } = JSON.parse(text) as WebhookBody;
    const known = bodies.get(id);
    if (known !== undefined && known !== text) broken("one body", `event ${id} came with two bodies`);
    bodies.set(id, text);
    if (!arrivals.has(id)) {
      const idealAt = data.idealRetryTime === undefined ? null : Date.parse(data.idealRetryTime);
      arrivals.set(id, { at: Date.now(), type, invoiceId: data.invoiceId, idealAt });
      if (type === "pause_collection") pausedAt.set(data.invoiceId, Date.now());
    }
    response.writeHead(200).end("{}");
  });
  return {
    port: endpoint.port,
    begin: (baseUrls, ca) => startMerchant(options, { arrivals, pausedAt, sockets, endpoint }, baseUrls, ca),
  };
}

type MerchantState = Pick<Merchants, "arrivals" | "pausedAt"> & {
  sockets: Set<{ destroy(): void }>;
  endpoint: { port: number; close(): void };
};

async function startMerchant(
  { count, everyMs, db, ports, secretKeys, broken }: Options,
  { arrivals, pausedAt, sockets, endpoint }: MerchantState,
  baseUrls: readonly string[],
  ca: string,
): Promise<Merchants> {
  const acknowledgedAt = new Map<string, number>();
  const merchantIds: string[] = [];
  const isStopping = new AbortController();
  const pushing: Promise<void>[] = [];
  for (let number = 0; number < count; number++) {
    const settings = { webhookUrl: `https://127.0.0.1:${endpoint.port}/hooks/${number}` };
    const { id } = await createMerchant(db, `Merchant ${number}`, settings, secretKeys, ports);
    merchantIds.push(id);
    const permissions = ["ingest:invoices", "ingest:transactions"] as const;
    const { apiKey } = await createApiKey(db, { merchantId: id, permissions }, ports);
    // Each begins at another address, and moves on to the next if one does not answer.
    const addresses = baseUrls.map((_, index) => baseUrls[(index + number) % baseUrls.length]!);
    const client = createClient({ baseUrl: addresses, apiKey, ca, retryForMs: 900_000, timeoutMs: 10_000 });
    const push = async () => {
      for (let turn = 0; !isStopping.signal.aborted; turn++) {
        const { invoice, attempt } = failedInvoice(`${number}_${turn}`, ports.now());
        await client.ingest.invoices([invoice]);
        await client.ingest.transactions([attempt]);
        acknowledgedAt.set(invoice.id, Date.now());
        await sleep(everyMs, undefined, { signal: isStopping.signal }).catch(() => {});
      }
      client.close();
    };
    pushing.push(
      push().catch((error: Error) => broken("acknowledged", `merchant ${number} gave up: ${error.message}`)),
    );
  }
  return {
    arrivals,
    pausedAt,
    acknowledgedAt,
    merchantIds,
    goesOn(at) {
      const alive = new Set<string>();
      for (const [id, acknowledged] of acknowledgedAt)
        if (acknowledged >= at && pausedAt.has(id)) alive.add(id.split("_")[1]!);
      return alive.size === count;
    },
    cutConnections() {
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    async stop() {
      isStopping.abort();
      await Promise.all(pushing);
    },
    close: endpoint.close,
  };
}

function failedInvoice(name: string, now: Date): { invoice: Invoice; attempt: Transaction } {
  const [id, customerId, at] = [`inv_${name}`, `cus_${name}`, now.toISOString()];
  const of = { customerId, amount: 1_900, currency: "EUR", createdAt: at, updatedAt: at };
  return {
    invoice: { id, state: "INVOICE_STATE_UNPAID", ...of },
    attempt: {
      id: `tx_${name}`,
      state: "TRANSACTION_STATE_FAILED",
      invoiceId: id,
      ...of,
      paymentMethodType: "card",
      cardBrand: "visa",
      cardCountry: "DE",
      networkDeclineCode: "51",
    },
  };
}
