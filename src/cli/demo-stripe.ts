import type Stripe from "stripe";
import { formatRecovered, noteFailure, outcomesOf, runBaseline } from "../../connectors/stripe/double/baseline.ts";
import { type StripeDouble, startStripeDouble } from "../../connectors/stripe/double/double-server.ts";
import { createShop, type Shop } from "../../connectors/stripe/double/shop.ts";
import { createWorldBank } from "../../connectors/stripe/double/world-bank.ts";
import { API_VERSION } from "../../connectors/stripe/stripe-account.ts";
import { formatInvoiceLine } from "../../simulator/merchant/terminal-lines.ts";
import type { Settings } from "../config/config.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { startExperiment } from "../experiments/experiments.ts";
import { changeMerchant, createMerchant } from "../merchants/merchant-settings.ts";
import { ROLES, type RunningService, start } from "../start.ts";
import { type CommandContext, CommandFailure, EXIT_CODES } from "./command.ts";
import { openConnectorSocket } from "./connector-socket.ts";
import { printDemoCommands } from "./demo-commands.ts";
import { runStripeConnector } from "./run-stripe-connector.ts";
import { setupInstructions } from "./setup-link.ts";
import { storeConnection } from "./store-connection.ts";

export interface StripeDemo {
  rate: number;
  customers: number;
  seed: number;
  /** Real seconds; undefined: until Ctrl-C. */
  seconds: number | undefined;
}

const KEY = "rk_test_demo";
const DAY_S = 86_400;
const WORK_EVERY_MS = 50;
const CALLS_PER_SECOND = 200;
const MESSAGES = { templates: null, zone: "UTC", quietFrom: 20, quietTo: 8, most: 3, everyDays: 4 };
/** Customers in the mails' link are the account's own; the address leads nowhere. */
const PUBLIC_URL = "https://pay.harbor.example";

/** The service, the connector and a simulated Stripe account with customers, in one process on a fast clock. */
export async function runStripeDemo(context: CommandContext, settings: Settings, demo: StripeDemo): Promise<number> {
  const ending = Promise.withResolvers<void>();
  let fatal: Error | null = null;
  const running = await start({
    ...{ settings, roles: new Set(ROLES), log: context.log, loggedProblems: context.loggedProblems },
    onFatal(error) {
      fatal = error;
      ending.resolve();
    },
  });
  const { now } = running.store.ports;
  const failedAt = new Map<string, Date>();
  const startAt = new Date(Math.ceil(now().getTime() / 1_000) * 1_000);
  const { double, shop } = await startAccount(context, demo, startAt, now, failedAt);
  const timer = setInterval(() => double.account.runDue(), WORK_EVERY_MS);
  const late = demo.seconds === undefined ? null : setTimeout(ending.resolve, demo.seconds * 1_000);
  void context.stopped.then(ending.resolve);
  try {
    const merchantId = await createDemoMerchant(running);
    await printPlaces(context, running, settings, demo);
    await connectDemo({ ...context, settings, stopped: ending.promise }, running, merchantId, double, shop);
  } finally {
    clearInterval(timer);
    if (late) clearTimeout(late);
    await double.close();
    await running.stop();
  }
  if (fatal) throw new CommandFailure(`The service stopped: ${(fatal as Error).message}`);
  const endAt = now();
  const ours = outcomesOf(double.account, failedAt, endAt, 0);
  context.print("");
  context.print(
    `${ours.size} invoices failed so far. The same customers and the same luck, until ${endAt.toISOString().slice(0, 10)}:`,
  );
  for (const line of formatRecovered(ours, runBaseline(demo, startAt, endAt, 0))) context.print(line);
  return EXIT_CODES.ok;
}

async function startAccount(
  { print, monotonicMs }: CommandContext,
  { customers, seed }: StripeDemo,
  startAt: Date,
  now: () => Date,
  failedAt: Map<string, Date>,
): Promise<{ double: StripeDouble; shop: Shop }> {
  const bank = createWorldBank();
  const double = await startStripeDouble({
    ...{ now, apiVersion: API_VERSION, askBank: bank.askBank, perSecond: 2 * CALLS_PER_SECOND },
    ...{ keys: [{ secret: KEY, scopes: null }], monotonicMs },
  });
  const { account, billing } = double;
  const shop = createShop({ account, billing, bank, seed, customers, startAt, accountMails: true });
  double.observe((event) => {
    shop.onEvent(event);
    const isFirst = !failedAt.has((event.data.object as { id: string }).id);
    noteFailure(failedAt, event, now().getTime());
    const line = describeEvent(double, event, isFirst, failedAt);
    if (line !== null) print(line);
  });
  return { double, shop };
}

/** A line for everything that happens to a failed invoice; null for other events. */
function describeEvent(
  { account, billing }: StripeDouble,
  event: Stripe.Event,
  isFirst: boolean,
  failedAt: ReadonlyMap<string, Date>,
): string | null {
  const invoice = event.data.object as Stripe.Invoice;
  if (invoice.object !== "invoice" || !failedAt.has(invoice.id!)) return null;
  const [payment] = account.listBy<Stripe.InvoicePayment>("invoice_payment", "invoice", invoice.id!);
  const charge = account
    .listBy<Stripe.Charge>("charge", "payment_intent", payment!.payment.payment_intent as string)
    .at(-1);
  const maker = charge ? billing.originOf(charge.id) : undefined;
  const by =
    maker === "request"
      ? "Dunlin's retry"
      : maker === "page"
        ? "the customer's payment"
        : isFirst
          ? "the first charge"
          : "Stripe's retry";
  const shown = { id: `in_…${invoice.id!.slice(-5)}`, amount: invoice.total, currency: invoice.currency.toUpperCase() };
  const say = (what: string) => formatInvoiceLine(new Date(event.created * 1_000), shown, what);
  switch (event.type) {
    case "invoice.payment_failed":
      return say(`${by} was declined: ${charge?.outcome?.reason?.replaceAll("_", " ") ?? "no method"}`);
    case "invoice.paid":
      return say(`recovered by ${by}`);
    case "invoice.updated": {
      const { metadata } = (event.data.previous_attributes ?? {}) as Partial<Stripe.Invoice>;
      if (!metadata) return null;
      const [before, mark] = [metadata.dunlin, invoice.metadata?.dunlin];
      if (mark && !before) return say("Dunlin takes over, Stripe's retries are off");
      return before && !mark && invoice.status === "open" ? say("given back to Stripe") : null;
    }
    default:
      return null;
  }
}

async function createDemoMerchant({ store: { db, ports, secretKeys } }: RunningService): Promise<string> {
  const settings = { ratePerSecond: 1_000, rateBurst: 1_000 };
  return (await createMerchant(db, "Harbor Coffee Club", settings, secretKeys, ports)).id;
}

async function printPlaces(context: CommandContext, running: RunningService, settings: Settings, { rate }: StripeDemo) {
  context.print(`Dunlin       ${settings.baseUrl}   data ${settings.dataDir}`);
  const setup = await setupInstructions(context, running, settings);
  if (setup) context.print(`Console      ${setup}`);
  printDemoCommands(context);
  context.print(
    `Clock        one day takes ${Math.round((DAY_S / rate) * 10) / 10} s   Ctrl-C stops and prints a summary`,
  );
}

/** As `connect stripe` does, but not in shadow mode: the demo starts with a 10% holdout at once. */
async function connectDemo(
  context: CommandContext,
  { store }: RunningService,
  merchantId: string,
  double: StripeDouble,
  shop: Shop,
) {
  const { db, ports, secretKeys } = store;
  const listening = { host: "127.0.0.1", endpointUrl: null } as const;
  const socket = await openConnectorSocket(context, { ...listening, port: 0 });
  const settings = {
    ...({ whenOver: "give_back", historyDays: 0, messages: MESSAGES, publicUrl: PUBLIC_URL } as const),
    ...{ ...listening, port: socket.port },
  };
  const { secrets } = await storeConnection(store, {
    ...{ merchantId, name: "stripe", isLive: false, providerKey: KEY, webhookSecrets: undefined, settings },
    replacesEndpoint: false,
  });
  await changeMerchant(db, merchantId, { shadow: false }, secretKeys, ports, async (tx) => {
    await startExperiment(
      tx,
      merchantId,
      { name: "Dunlin or Stripe's retries", share: 0.9 },
      COMMAND_LINE_ACTOR,
      ports,
    );
  });
  await runStripeConnector(context, store, {
    ...{ merchantId, isLive: false, secrets, settings, socket, metricsPort: undefined },
    ...{ callsPerSecond: CALLS_PER_SECOND, stripeUrl: new URL(double.url) },
    async sendMail({ to, text }) {
      const [, invoiceId] = /\/(in_\w+)/.exec(text) ?? [];
      const invoice = invoiceId === undefined ? undefined : double.account.find<Stripe.Invoice>("invoice", invoiceId);
      if (!invoice) return "the mail names no invoice";
      const shown = {
        id: `in_…${invoice.id.slice(-5)}`,
        amount: invoice.total,
        currency: invoice.currency.toUpperCase(),
      };
      context.print(formatInvoiceLine(ports.now(), shown, `a mail asks ${to} for another card`));
      shop.mail(invoice.id);
      return null;
    },
  });
}
