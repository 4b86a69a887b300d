import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type Invoice, type Transaction } from "#sdk";
import { createApiKey } from "../../../src/auth/api-keys.ts";
import type { Ports } from "../../../src/domain/ports.ts";
import { createMerchant } from "../../../src/merchants/merchant-settings.ts";
import type { Database } from "../../../src/postgres/database.ts";
import type { SecretKeys } from "../../../src/tables/secret-box.ts";
import type { ReportProblem } from "../harness/problems.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";

/** The first arrival of an event; `at` is real time. */
export interface FirstArrival {
  at: number;
  invoiceId: string;
  /** Service time in milliseconds; null: none. */
  idealAt: number | null;
}

/** The merchants' endpoint, which always answers, and the events that arrived there. */
export interface MerchantEndpoint {
  receiver: Receiver;
  /** By event. */
  arrivals: Map<string, FirstArrival>;
  /** When the `pause_collection` of each invoice arrived. */
  pausedAt: Map<string, number>;
}

/** The records that merchants pushed. */
export interface Merchants {
  /** When an invoice, with its failed attempt, was acknowledged; real time. */
  acknowledgedAt: Map<string, number>;
  /** Whether every merchant has an invoice acknowledged at or after `at` whose event has arrived. */
  goesOn(at: number): boolean;
  /** Stops new invoices; resolves when all started pushes are acknowledged. */
  stop(): Promise<void>;
}

interface Options {
  endpoint: MerchantEndpoint;
  count: number;
  /** Real milliseconds between two invoices of one merchant. */
  everyMs: number;
  /** The addresses of the service, and the certificate of the authority that signed theirs. */
  baseUrls: readonly string[];
  ca: string;
  db: Database;
  ports: Ports;
  secretKeys: SecretKeys;
  broken: ReportProblem;
}

export async function openMerchantEndpoint(
  seed: number,
  tls: { cert: string; key: string },
): Promise<MerchantEndpoint> {
  const arrivals = new Map<string, FirstArrival>();
  const pausedAt = new Map<string, number>();
  const receiver = await startReceiver({
    seed,
    tls,
    replies: [[{ answer: "ok" }, 1]],
    onArrival({ id, type, data: { invoiceId, idealRetryTime } }, isFirst) {
      if (!isFirst) return;
      const idealAt = idealRetryTime === undefined ? null : Date.parse(idealRetryTime);
      arrivals.set(id, { at: Date.now(), invoiceId, idealAt });
      if (type === "pause_collection") pausedAt.set(invoiceId, Date.now());
    },
  });
  return { receiver, arrivals, pausedAt };
}

/** Begins to push failed invoices, each merchant at intervals. */
export async function startMerchants(options: Options): Promise<Merchants> {
  const { endpoint, count, everyMs, baseUrls, ca, db, ports, secretKeys, broken } = options;
  const acknowledgedAt = new Map<string, number>();
  const isStopping = new AbortController();
  const pushing: Promise<void>[] = [];
  for (let number = 0; number < count; number++) {
    const settings = { webhookUrl: `https://127.0.0.1:${endpoint.receiver.port}/hooks/${number}` };
    const { id } = await createMerchant(db, `Merchant ${number}`, settings, secretKeys, ports);
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
    acknowledgedAt,
    goesOn(at) {
      const alive = new Set<string>();
      for (const [id, acknowledged] of acknowledgedAt)
        if (acknowledged >= at && endpoint.pausedAt.has(id)) alive.add(id.split("_")[1]!);
      return alive.size === count;
    },
    async stop() {
      isStopping.abort();
      await Promise.all(pushing);
    },
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
