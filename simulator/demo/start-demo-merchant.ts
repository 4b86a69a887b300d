import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type Client, createWebhookReceiver, nodeListener, type RecoveryAction } from "#sdk";
import { createDemoMerchant, type DemoMerchant } from "../merchant/demo-merchant.ts";
import { formatSummary, type Summary, summarize } from "../merchant/demo-summary.ts";
import { formatDay, formatInvoiceLine } from "../merchant/terminal-lines.ts";
import { DAY_MS } from "../world/keyed-random.ts";
import { type ActionCopy, startCopyingActions } from "./copy-actions.ts";
import { createJournal, type JournalEntry } from "./journal.ts";
import { startPushingRecords } from "./push-records.ts";
import { watchPlans } from "./watch-plans.ts";

export interface DemoOptions {
  seed: number;
  /** 200 by default: about one failure every five seconds when a day takes ten. */
  customers?: number;
  /** Service time. */
  now(): Date;
  rate: number;
  /** PEM of the endpoint's certificate. */
  tls: { cert: string; key: string };
  /** Dunlin must send it as `Authorization: Bearer`. */
  webhookToken: string;
  /** 127.0.0.1 and a free port by default. */
  host?: string;
  port?: number;
  pushTransactions?: boolean;
  print(line: string): void;
}

export interface DemoMerchantRun {
  /** Configure it in Dunlin before `start`. */
  webhookUrl: string;
  /** The first invoices are due at once. */
  start(client: Client): void;
  /** Stops after one last push. The endpoint still answers. */
  stopBilling(): Promise<void>;
  /** Also closes the endpoint. The client stays open. */
  stop(): Promise<void>;
  summary(): Summary;
  /** For a terminal of 100 columns. */
  summaryLines(): string[];
  journal: readonly JournalEntry[];
  /** The actions that Dunlin reports as executed, and those missing in the merchant's books. */
  executed(): { actions: readonly RecoveryAction[]; unknown: readonly RecoveryAction[] };
}

/** In service time, if that is a sensible delay for a real timer. */
const STEP_MS = 10 * 60_000;
const SUMMARY_EVERY_MS = 7 * DAY_MS;

/**
 * Runs the demo merchant with real sockets and timers: a complete integration with the SDK.
 *
 * - It receives: the receiver below checks, acknowledges and de-duplicates; `merchant/follow-events.ts` carries out an event.
 * - It acts: `merchant/charge-invoices.ts` charges at the ideal time, and names the event in the transaction.
 * - It reports: `push-records.ts` pushes the books, transactions before their invoices.
 * - It reads: `watch-plans.ts` lists planned retries, `copy-actions.ts` copies executed actions.
 *
 * The endpoint listens when this returns. Billing waits for `start`, because the API key exists only then.
 */
export async function startDemoMerchant(options: DemoOptions): Promise<DemoMerchantRun> {
  const { now, print } = options;
  const journal = createJournal();
  let merchant: DemoMerchant | null = null;
  let copy: ActionCopy | null = null;
  let stops: (() => unknown)[] = [];

  const receiver = createWebhookReceiver({
    auth: { bearer: options.webhookToken },
    handle: (event) => merchant?.receive(event, now()),
    onExchange: (exchange) => journal.record(exchange, now()),
  });
  const server = createServer(
    { ...options.tls, headersTimeout: 10_000, requestTimeout: 20_000 },
    nodeListener(receiver),
  );
  const host = options.host ?? "127.0.0.1";
  server.listen(options.port ?? 0, host);
  await once(server, "listening");

  function start(client: Client) {
    assert(merchant === null, "the demo merchant was started before");
    const startAt = now();
    const started = createDemoMerchant({ ...options, customers: options.customers ?? 200, startAt });
    merchant = started;
    let summaryAtMs = startAt.getTime() + SUMMARY_EVERY_MS;
    const step = () => {
      const at = now();
      started.step(at);
      if (at.getTime() < summaryAtMs) return;
      summaryAtMs += SUMMARY_EVERY_MS;
      for (const line of lines()) print(line);
    };
    step();
    const timer = setInterval(step, Math.min(1000, Math.max(20, STEP_MS / options.rate)));
    const tellPlan = (invoiceId: string, what: string) => {
      const invoice = started.invoice(invoiceId);
      if (invoice?.state === "UNPAID") print(formatInvoiceLine(now(), invoice, what));
    };
    copy = startCopyingActions(client);
    stops = [
      () => clearInterval(timer),
      startPushingRecords(client, started.takeOutbox, print),
      watchPlans(client, tellPlan),
    ];
  }

  async function stopBilling() {
    await Promise.all(stops.splice(0).map((stopOne) => stopOne()));
    await copy?.stop();
  }

  function executed() {
    const actions = [...(copy?.executed.values() ?? [])];
    const isBooked = ({ invoiceId, transactionId }: RecoveryAction) =>
      transactionId === undefined ||
      merchant?.invoice(invoiceId)?.attempts.some(({ id }) => id === transactionId) === true;
    return { actions, unknown: actions.filter((action) => !isBooked(action)) };
  }

  async function stop() {
    await stopBilling();
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
    await receiver.stop();
  }

  const summary = () => merchant?.summary() ?? summarize([]);
  const lines = () => formatSummary(summary(), `summary up to ${formatDay(now())} UTC`);
  return {
    webhookUrl: `https://${host}:${(server.address() as AddressInfo).port}/dunlin`,
    start,
    stopBilling,
    stop,
    summary,
    summaryLines: lines,
    journal: journal.entries,
    executed,
  };
}
