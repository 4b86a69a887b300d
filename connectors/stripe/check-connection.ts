import Stripe from "stripe";
import { type Client, DunlinError } from "../kit/sdk.ts";
import { API_VERSION } from "./stripe-account.ts";

/** One line of `dunlin connect stripe --check`. */
export interface CheckLine {
  isOk: boolean;
  name: string;
  /** In a failed line: the problem, and how to mend it. */
  says: string;
}

export interface CheckOptions {
  stripe: Stripe;
  stripeKey: string;
  webhookSecrets: readonly string[];
  /** Whether the connection is meant for live mode. */
  isLive: boolean;
  /** Whether subscriptions are canceled when recovery ends. */
  cancelsSubscriptions: boolean;
  /** Null: Dunlin's side is set up with the connection, and not yet there. */
  dunlin: {
    client: Pick<Client, "ingest">;
    merchant: MerchantEndpoint;
    /** Where the connector takes Dunlin's events. */
    endpointUrl: string;
  } | null;
  /** When the last webhook came, and when one was refused; service time. */
  lastWebhook: { acceptedAt: Date | null; refusedAt: Date | null };
}

/** The merchant's side of a connection, as Dunlin has it. */
export interface MerchantEndpoint {
  id: string;
  webhookUrl: string | null;
  sendsRecoveryEnded: boolean;
  shadow: boolean;
  webhookPausedAt: Date | null;
  webhookPausedBy: "dunlin" | "person" | null;
  /** Every attempt has failed since. */
  webhookFailingSince: Date | null;
}

/** No object has this id, so asking for it changes nothing: a 404 shows that the key may ask. */
const NOWHERE = "in_dunlin_check";

/** Each permission that the connector needs, with a call that needs it and changes nothing. */
const PERMISSIONS: readonly (readonly [string, (stripe: Stripe) => Promise<unknown>])[] = [
  ["Invoices: read", (stripe) => stripe.invoices.list({ limit: 1 })],
  ["Invoices: write", (stripe) => stripe.invoices.update(NOWHERE, { metadata: { dunlin: "" } })],
  ["Charges: read", (stripe) => stripe.charges.list({ limit: 1 })],
  ["Charges: of a payment", (stripe) => stripe.charges.list({ payment_intent: NOWHERE, limit: 1 })],
  [
    "Invoice payments: read",
    (stripe) => stripe.invoicePayments.list({ payment: { type: "payment_intent", payment_intent: NOWHERE }, limit: 1 }),
  ],
  ["Subscriptions: read", (stripe) => stripe.subscriptions.list({ limit: 1 })],
  ["Customers: read", (stripe) => stripe.customers.list({ limit: 1 })],
  ["Payment methods: read", (stripe) => stripe.paymentMethods.retrieve(NOWHERE)],
  ["Disputes: read", (stripe) => stripe.disputes.list({ limit: 1 })],
  ["Events: read", (stripe) => stripe.events.list({ limit: 1 })],
];
const CANCEL_PERMISSION = [
  "Subscriptions: write",
  (stripe: Stripe) => stripe.subscriptions.update(NOWHERE, { metadata: { dunlin: "" } }),
] as const;

/** Asks both sides for everything that the connector needs. Changes nothing. */
export async function checkConnection(options: CheckOptions): Promise<CheckLine[]> {
  const key = checkKeyText(options);
  const answers = key.isOk ? await checkStripe(options) : [];
  return [key, ...answers, checkWebhookSecret(options), ...(await checkDunlin(options))];
}

function checkKeyText({ stripeKey, isLive }: CheckOptions): CheckLine {
  const name = "Stripe key";
  const [, kind, mode] = /^(sk|rk)_(test|live)_/.exec(stripeKey) ?? [];
  if (kind === undefined)
    return bad(
      name,
      "it does not begin with rk_test_, rk_live_, sk_test_ or sk_live_: copy it again from Stripe's page of API keys",
    );
  if ((mode === "live") !== isLive)
    return bad(
      name,
      isLive
        ? "it is a key of test mode, and --live was given: take the key of live mode, or leave --live out"
        : "it is a key of live mode: take one of test mode, or say --live",
    );
  return ok(
    name,
    `${kind === "rk" ? "restricted" : "a secret key with all permissions; a restricted one is safer"}, ${mode} mode`,
  );
}

async function checkStripe({ stripe, cancelsSubscriptions }: CheckOptions): Promise<CheckLine[]> {
  const lines: CheckLine[] = [];
  for (const [name, ask] of [...PERMISSIONS, ...(cancelsSubscriptions ? [CANCEL_PERMISSION] : [])]) {
    const problem = await ask(stripe).then(
      () => null,
      (error) => problemOf(error),
    );
    lines.push(problem === null ? ok(name, "allowed") : bad(name, problem));
    // Without an answer, the other questions say nothing new.
    if (problem !== null && !/permission/.test(problem)) return lines;
  }
  return [...lines, ok("API version", API_VERSION)];
}

function problemOf(error: unknown): string | null {
  if (error instanceof Stripe.errors.StripePermissionError) {
    const [, permission] = /'(rak_[a-z_]+)'/.exec(error.message) ?? [];
    return `the key lacks this permission${permission ? ` (${permission})` : ""}: add it to the restricted key in Stripe`;
  }
  if (error instanceof Stripe.errors.StripeAuthenticationError)
    return "Stripe does not know the key: it was mistyped or revoked";
  if (error instanceof Stripe.errors.StripeInvalidRequestError) {
    if (error.code === "resource_missing") return null;
    return /API version/i.test(error.message)
      ? `Stripe refuses version ${API_VERSION}, for which this connector is written: update Dunlin`
      : error.message;
  }
  return `no answer from Stripe: ${(error as Error).message}`;
}

function checkWebhookSecret({ webhookSecrets, lastWebhook: { acceptedAt, refusedAt } }: CheckOptions): CheckLine {
  const name = "Webhook secret";
  if (webhookSecrets.length === 0)
    return ok(name, "none: the connector looks for changes every ten seconds. With a webhook it hears of them at once");
  if (webhookSecrets.some((secret) => !secret.startsWith("whsec_")))
    return bad(name, "it does not begin with whsec_: copy the signing secret of the endpoint from Stripe");
  if (refusedAt !== null && (acceptedAt === null || acceptedAt < refusedAt))
    return bad(
      name,
      `the webhook of ${refusedAt.toISOString()} was signed with another secret: copy the signing secret of this endpoint from Stripe`,
    );
  return ok(
    name,
    acceptedAt === null ? "no webhook has come yet" : `the last webhook came ${acceptedAt.toISOString()}`,
  );
}

async function checkDunlin({ dunlin }: CheckOptions): Promise<CheckLine[]> {
  if (dunlin === null) return [];
  const { client, merchant } = dunlin;
  const line = async (name: string, ask: () => Promise<unknown>, isExpected: (error: DunlinError) => boolean) => {
    const error = await ask().then(
      () => null,
      (thrown) => thrown as DunlinError,
    );
    if (error === null || (error instanceof DunlinError && isExpected(error))) return ok(name, "allowed");
    if (error.code === 403 || error.code === 401)
      return bad(name, `${error.message.replace(/\.$/, "")}: disconnect and connect again, which makes a new key`);
    return bad(name, `no answer from Dunlin: ${error.message}. Start it by npm start`);
  };
  // A batch that breaks a rule is refused after the key's permission was checked, and stores nothing.
  const isRefused = ({ code }: DunlinError) => code === 400;
  const nothing = [{} as never];
  return [
    ...(await Promise.all([
      line("Dunlin: ingest:subscriptions", () => client.ingest.subscriptions(nothing), isRefused),
      line("Dunlin: ingest:invoices", () => client.ingest.invoices(nothing), isRefused),
      line("Dunlin: ingest:transactions", () => client.ingest.transactions(nothing), isRefused),
    ])),
    checkEndpoint(dunlin),
    merchant.sendsRecoveryEnded
      ? ok("recovery_ended", "sent")
      : bad(
          "recovery_ended",
          `not sent, so invoices would stay without Stripe's retries: npx dunlin merchant set ${merchant.id} --recovery-ended yes`,
        ),
    ok("Shadow mode", merchant.shadow ? "on: nothing is charged yet" : "off: failed payments are retried"),
  ];
}

function checkEndpoint({ merchant, endpointUrl }: NonNullable<CheckOptions["dunlin"]>): CheckLine {
  const name = "Dunlin's webhook";
  const { id, webhookUrl, webhookPausedAt, webhookPausedBy, webhookFailingSince } = merchant;
  const since = (at: Date | null) => at?.toISOString() ?? "an unknown time";
  if (webhookUrl === null) return bad(name, "the merchant has no endpoint: start the connector, which sets it");
  if (webhookUrl !== endpointUrl)
    return bad(
      name,
      `events go to ${webhookUrl} instead of ${endpointUrl}: start the connector with --replace-endpoint, or with --endpoint-url if both lead to it`,
    );
  if (webhookPausedBy === "person")
    return bad(name, `a person paused it at ${since(webhookPausedAt)}: npx dunlin merchant set ${id} --resume`);
  if (webhookPausedBy === "dunlin")
    return bad(
      name,
      `Dunlin paused it at ${since(webhookPausedAt)}, because every attempt for days had failed: start the connector, which resumes it`,
    );
  if (webhookFailingSince !== null)
    return bad(
      name,
      `every attempt to reach ${webhookUrl} has failed since ${since(webhookFailingSince)}: start the connector; if it runs, run npx dunlin webhook test ${id}`,
    );
  return ok(name, webhookUrl);
}

const ok = (name: string, says: string): CheckLine => ({ isOk: true, name, says });
const bad = (name: string, says: string): CheckLine => ({ isOk: false, name, says });

export const formatCheck = ({ isOk, name, says }: CheckLine): string =>
  `${isOk ? "ok  " : "fail"}  ${name.padEnd(30)} ${says}`;
