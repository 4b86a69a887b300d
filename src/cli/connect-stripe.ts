import { setTimeout as sleep } from "node:timers/promises";
import { createPacer } from "../../connectors/kit/pacer.ts";
import { createClient } from "../../connectors/kit/sdk.ts";
import { checkConnection, formatCheck } from "../../connectors/stripe/check-connection.ts";
import { createStripeClient } from "../../connectors/stripe/connector.ts";
import { giveAllBack } from "../../connectors/stripe/follow-dunlin.ts";
import { createStripeAccount, isRateLimit } from "../../connectors/stripe/stripe-account.ts";
import { createMailer } from "../auth/mail.ts";
import type { ConnectionSecrets, ConnectionSettings } from "../domain/connection.ts";
import { findConnection, markConnectionEnding } from "../tables/connections.ts";
import { sumInvoices } from "../tables/invoice-list.ts";
import { findMerchant } from "../tables/merchants.ts";
import {
  type Command,
  type CommandContext,
  CommandFailure,
  EXIT_CODES,
  integerOption,
  type OpenedDatabase,
  type OptionValues,
  textOption,
  UsageError,
  withDatabase,
} from "./command.ts";
import { CONNECTION_OPTIONS, CONNECTION_USAGE, endpointOf, readConnectionSettings } from "./connection-options.ts";
import { openConnectorSocket } from "./connector-socket.ts";
import { resolveMerchant } from "./resolve-merchant.ts";
import { assertMessagesPossible, loadServiceCa, markOf, runStripeConnector, storeOf } from "./run-stripe-connector.ts";
import { readSecretOption, secretOptions } from "./secret-options.ts";
import { readConnectionSecrets, removeConnection, requireConnectable, storeConnection } from "./store-connection.ts";

export const connectStripe: Command = {
  name: "connect stripe",
  usage: `[--stripe-key-file F] [--webhook-secret-file F] [options]
  Keys and settings are stored, so the next start needs no options.
  --stripe-key-file F      a restricted key of Stripe; - is standard input
  --webhook-secret-file F  the signing secret of Stripe's webhook; two lines during a rotation
  --merchant M             not needed if there is only one merchant
  --live                   the key is for live mode${CONNECTION_USAGE}
  --replace-endpoint       let this command replace the merchant's own endpoint

  These options are not stored:
  --metrics-port N         serve health and Prometheus metrics on 127.0.0.1
  --calls-per-second N     calls to Stripe (20 in test mode, 80 in live mode)
  --poll-seconds N         seconds between two looks for events that no webhook brought (10)
  --stripe-url U           another address than Stripe's, for tests
  --check                  ask both sides for everything that is needed, and change nothing
  --disconnect             give all invoices back to Stripe, and forget the keys`,
  summary: "Connect a Stripe account: read its invoices, retry failed ones when Dunlin says, and report back",
  options: {
    ...secretOptions("stripe-key", "webhook-secret"),
    ...CONNECTION_OPTIONS,
    merchant: { type: "string" },
    live: { type: "boolean" },
    "replace-endpoint": { type: "boolean" },
    "metrics-port": { type: "string" },
    "calls-per-second": { type: "string" },
    "poll-seconds": { type: "string" },
    "stripe-url": { type: "string" },
    check: { type: "boolean" },
    disconnect: { type: "boolean" },
  },
  positionals: [],
  examples: [
    "npx dunlin connect stripe --stripe-key-file stripe-key --check",
    "npx dunlin connect stripe --stripe-key-file stripe-key",
    "npx dunlin connect stripe",
  ],
  logsTo: "stderr",
  async run(context, values) {
    if (values.check && values.disconnect) throw new UsageError("Give --check or --disconnect, not both.");
    const given = await readGiven(context, values);
    return withDatabase(context, async (opened) => {
      const merchantId = await resolveMerchant(opened.db, values);
      if (values.check) return check(context, opened, merchantId, given);
      if (values.disconnect) return disconnect(context, opened, merchantId, given);
      return connect(context, opened, merchantId, given, values);
    });
  },
};

interface Given {
  stripeKey: string | undefined;
  webhookSecrets: string[] | undefined;
  /** Undefined: as stored, or test mode. */
  isLive: boolean | undefined;
  stripeUrl: URL | undefined;
  callsPerSecond: number | undefined;
  values: OptionValues;
}

async function readGiven(context: CommandContext, values: OptionValues): Promise<Given> {
  const url = textOption(values, "stripe-url");
  if (url !== undefined && !URL.canParse(url)) throw new UsageError("--stripe-url takes a URL.");
  const webhookSecret = await readSecretOption(context, values, "webhook-secret");
  return {
    stripeKey: (await readSecretOption(context, values, "stripe-key"))?.trim(),
    webhookSecrets: webhookSecret?.split(/\s+/).filter(Boolean),
    isLive: values.live === true ? true : undefined,
    stripeUrl: url === undefined ? undefined : new URL(url),
    callsPerSecond: integerOption(values, "calls-per-second", 1, 1_000),
    values,
  };
}

/** Keys and settings as they would be stored; null: no key is known. */
async function combine(opened: OpenedDatabase, merchantId: string, given: Given) {
  const stored = await findConnection(opened.db, merchantId, "stripe");
  const secrets = stored && readConnectionSecrets(opened, stored);
  return {
    isLive: given.isLive ?? stored?.isLive ?? false,
    stripeKey: given.stripeKey ?? secrets?.providerKey,
    webhookSecrets: given.webhookSecrets ?? secrets?.webhookSecrets ?? [],
    apiKey: secrets?.apiKey,
    /** Null: not connected yet. */
    storedEndpoint: stored && endpointOf(stored.settings),
    settings: readConnectionSettings(given.values, stored?.settings ?? null),
  };
}

async function connect(
  context: CommandContext,
  opened: OpenedDatabase,
  merchantId: string,
  given: Given,
  values: OptionValues,
) {
  const known = await combine(opened, merchantId, given);
  const metricsPort = integerOption(values, "metrics-port", 1, 65_535);
  const pollSeconds = integerOption(values, "poll-seconds", 1, POLL_SECONDS_MAX);
  const connection = { merchantId, name: "stripe", isLive: known.isLive, providerKey: given.stripeKey } as const;
  await requireConnectable(opened, connection);
  assertMessagesPossible(context, known.settings);
  if (given.stripeKey !== undefined) await assertKeyWorks(known, given);
  // First, so that nothing is stored if the port is in use.
  const socket = await openConnectorSocket(context, known.settings);
  try {
    const { secrets, isNew, startsInShadow } = await storeConnection(opened, {
      ...{ ...connection, webhookSecrets: given.webhookSecrets, settings: known.settings },
      replacesEndpoint: values["replace-endpoint"] === true,
    });
    const openCount = isNew ? await countOpenCases(opened.db, merchantId) : 0;
    if (openCount > 0)
      context.print(
        `Dunlin still recovers ${openCount} ${openCount === 1 ? "invoice" : "invoices"} from before. Their retries are charged. To end one, stop it in the console.`,
      );
    if (isNew && startsInShadow && openCount === 0)
      context.print(
        `Shadow mode is on: nothing is charged. ${context.settings.authUrl}/connection shows what Dunlin would do, and starts it.`,
      );
    return await runStripeConnector(context, opened, {
      ...{ merchantId, isLive: known.isLive, secrets, settings: known.settings, socket, stripeUrl: given.stripeUrl },
      ...{ metricsPort, callsPerSecond: given.callsPerSecond, pollSeconds },
    });
  } finally {
    // Otherwise the process would never end after an error.
    socket.close();
  }
}

/** Shadow mode starts with new cases, so those that are open go on. */
async function countOpenCases(db: OpenedDatabase["db"], merchantId: string): Promise<number> {
  const sums = await sumInvoices(db, merchantId, { outcome: "open" });
  return sums.reduce((total, { n }) => total + n, 0);
}

/** A key that Stripe refuses is not stored. */
async function assertKeyWorks(known: Awaited<ReturnType<typeof combine>>, { stripeUrl }: Given) {
  const lines = await checkConnection({
    ...{ stripe: createStripeClient(known.stripeKey!, stripeUrl), stripeKey: known.stripeKey!, isLive: known.isLive },
    ...{ webhookSecrets: known.webhookSecrets, lastWebhook: { acceptedAt: null, refusedAt: null }, dunlin: null },
    cancelsSubscriptions: known.settings.whenOver === "cancel_subscription",
  });
  const failed = lines.filter(({ isOk }) => !isOk);
  if (failed.length > 0)
    throw new CommandFailure(["The account was not connected.", ...failed.map((line) => formatCheck(line))].join("\n"));
}

async function check(context: CommandContext, opened: OpenedDatabase, merchantId: string, given: Given) {
  const known = await combine(opened, merchantId, given);
  if (known.stripeKey === undefined) throw new UsageError("--stripe-key-file is missing.");
  const store = storeOf(opened, merchantId);
  const [accepted, refused] = [await store.readCursor("webhook-accepted"), await store.readCursor("webhook-refused")];
  const dunlin = known.apiKey === undefined ? null : await openClient(context, known.apiKey);
  const merchant = (await findMerchant(opened.db, merchantId))!;
  const lines = await checkConnection({
    ...{ stripe: createStripeClient(known.stripeKey, given.stripeUrl), stripeKey: known.stripeKey },
    ...{ isLive: known.isLive, webhookSecrets: known.webhookSecrets },
    cancelsSubscriptions: known.settings.whenOver === "cancel_subscription",
    dunlin: dunlin && { client: dunlin, merchant, endpointUrl: known.storedEndpoint! },
    lastWebhook: {
      acceptedAt: accepted === null ? null : new Date(accepted),
      refusedAt: refused === null ? null : new Date(refused),
    },
  });
  dunlin?.close();
  const messages = await checkMessages(context, known.settings);
  const all = [...lines, ...messages];
  for (const line of all) context.print(formatCheck(line));
  return all.every(({ isOk }) => isOk) ? EXIT_CODES.ok : EXIT_CODES.failed;
}

async function openClient(context: CommandContext, apiKey: ConnectionSecrets["apiKey"]) {
  const ca = await loadServiceCa(context);
  return createClient({ baseUrl: context.settings.baseUrl, apiKey, retryForMs: 2_000, ca });
}

async function checkMessages({ settings: { mail } }: CommandContext, { messages, publicUrl }: ConnectionSettings) {
  const name = "Mails to customers";
  if (messages === null) return [{ isOk: true, name, says: "off" }];
  const problem =
    mail === null
      ? "no mail server is set: DUNLIN_SMTP_URL and DUNLIN_MAIL_FROM"
      : publicUrl === null
        ? "there is no --public-url for the link by which a customer ends the mails"
        : await createMailer(mail).check();
  return [{ isOk: problem === null, name, says: problem ?? `on, at most ${messages.most} per invoice` }];
}

async function disconnect(context: CommandContext, opened: OpenedDatabase, merchantId: string, given: Given) {
  const stored = await findConnection(opened.db, merchantId, "stripe");
  if (!stored) throw new CommandFailure("This merchant is not connected to Stripe.");
  const secrets = readConnectionSecrets(opened, stored);
  const stripeKey = given.stripeKey ?? secrets?.providerKey;
  if (stripeKey === undefined)
    throw new CommandFailure("The stored key can no longer be read. To give the invoices back: --stripe-key-file F");
  await markConnectionEnding(opened.db, merchantId, "stripe", opened.ports.now());
  // A running connector ends, and takes over no more invoices.
  await sleep(CONNECTOR_ENDS_MS);
  const store = storeOf(opened, merchantId);
  const pace = createPacer(given.callsPerSecond ?? CALLS_WHILE_ENDING, {
    nowMs: context.monotonicMs,
    sleep,
    isRefused: isRateLimit,
  });
  const account = createStripeAccount(createStripeClient(stripeKey, given.stripeUrl), pace);
  const hint = async () => {};
  const { count, failed } = await giveAllBack({ account, store, mark: markOf(merchantId), hint }, opened.ports.now());
  const words = (n: number) => `${n} ${n === 1 ? "invoice was" : "invoices were"}`;
  if (failed.length > 0)
    throw new CommandFailure(
      [
        `${words(count)} given back to Stripe, ${failed.length} could not be. Still connected, and nothing is charged. Say --disconnect again.`,
        ...failed.slice(0, FAILURES_SHOWN).map(({ invoiceId, problem }) => `  ${invoiceId}: ${problem}`),
      ].join("\n"),
    );
  await removeConnection(opened, stored);
  context.print(`Disconnected. ${words(count)} given back to Stripe.`);
  return EXIT_CODES.ok;
}

const FAILURES_SHOWN = 5;
/** Longer than a connector's heartbeat. */
const CONNECTOR_ENDS_MS = 3_000;
const CALLS_WHILE_ENDING = 10;
/** Well below the age of the last poll at which the connector counts as failing. */
const POLL_SECONDS_MAX = 300;
