import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type Stripe from "stripe";
import { type Account, createAccount } from "./account.ts";
import { type Billing, createBilling, type FinalAction } from "./billing.ts";
import { type FormFields, type FormValue, readForm } from "./form-body.ts";
import type { AskBank } from "./payments.ts";
import { expandPayments, ROUTES, type Route } from "./routes.ts";
import { invalidRequest, StripeApiError } from "./stripe-error.ts";
import { createWebhookSender, NO_FAULTS, type PostWebhook, type WebhookFaults } from "./webhook-sender.ts";
import { type MethodReasons, withTestCards } from "./world-bank.ts";

/** A key of the account. `scopes`: of a restricted key, such as `invoice_read`; null: all. */
export interface DoubleKey {
  secret: string;
  scopes: ReadonlySet<string> | null;
}

export interface DoubleOptions {
  now(): Date;
  apiVersion: string;
  keys: readonly DoubleKey[];
  askBank: AskBank;
  /** Days from the first attempt to each retry by the account itself. */
  retryDays?: readonly number[];
  finalAction?: FinalAction;
  /** Requests per second and key, by real time; 25 in Stripe's sandboxes. */
  perSecond?: number;
  monotonicMs(): number;
  webhooks?: { faults?: WebhookFaults; post: PostWebhook; seed?: number };
  /** Without it the server answers by plain HTTP, as the official command line tool expects from a local address. */
  tls?: { cert: string; key: string };
  livemode?: boolean;
}

export interface StripeDouble {
  account: Account;
  billing: Billing;
  url: string;
  port: number;
  /** Requests by `METHOD path`, with ids replaced by `:id`. */
  requests: Map<string, number>;
  /** Requests that were refused because there were too many. */
  refusals(): number;
  /** Calls a listener with each event of the account. */
  observe(listener: (event: Stripe.Event) => void): void;
  /** Lets the next requests fail, and ends those under way without an answer; false: answers again. */
  setDown(isDown: boolean): void;
  /** Called after a request was carried out and before it is answered. True: its connection ends without an answer. */
  onAnswer(hook: ((route: string) => boolean) | null): void;
  /** Runs all work that is due on the account's clock, and waits for its webhooks. */
  runDue(): Promise<void>;
  close(): Promise<void>;
}

/** Smart Retries spread about eight attempts over two weeks. */
export const DEFAULT_RETRY_DAYS = [1, 2, 4, 6, 8, 11, 14];
const IDEMPOTENCY_MS = 24 * 3_600_000;

interface StoredReply {
  fingerprint: string;
  at: number;
  /** Null while the first request is under way. */
  reply: { status: number; body: object } | null;
}

/** Starts a stateful server that answers as Stripe does, for the endpoints that a connector uses. */
export async function startStripeDouble(options: DoubleOptions): Promise<StripeDouble> {
  const { now, apiVersion, keys, monotonicMs, perSecond = 25, livemode = false } = options;
  const reasons: MethodReasons = new Map();
  const listeners: ((event: Stripe.Event) => void)[] = [];
  const tell = (event: Stripe.Event) => {
    webhooks.send(event);
    for (const listener of listeners) listener(event);
  };
  let refusals = 0;
  let isDown = false;
  let answerHook: ((route: string) => boolean) | null = null;
  const account = createAccount({ now, apiVersion, livemode, onEvent: tell });
  const billing = createBilling({
    account,
    askBank: withTestCards(reasons, options.askBank),
    retryDays: options.retryDays ?? DEFAULT_RETRY_DAYS,
    finalAction: options.finalAction ?? "cancel",
  });
  const { faults = NO_FAULTS, post = async () => 200, seed = 1 } = options.webhooks ?? {};
  const webhooks = createWebhookSender(account, { seed, faults, post });
  const replies = new Map<string, StoredReply>();
  const requests = new Map<string, number>();
  const allowance = new Map<string, { tokens: number; at: number }>();

  function takeToken(key: string) {
    const at = monotonicMs();
    const bucket = allowance.get(key) ?? { tokens: perSecond, at };
    allowance.set(key, bucket);
    bucket.tokens = Math.min(perSecond, bucket.tokens + ((at - bucket.at) / 1_000) * perSecond);
    bucket.at = at;
    if (bucket.tokens < 1) refusals++;
    if (bucket.tokens < 1)
      throw new StripeApiError(429, {
        ...{ type: "invalid_request_error", code: "rate_limit", message: "Request rate limit exceeded." },
      });
    bucket.tokens--;
  }

  function authenticate(request: IncomingMessage, route: Route | undefined): DoubleKey {
    const { authorization = "" } = request.headers;
    const basic = /^Basic (.+)$/.exec(authorization)?.[1];
    const secret = basic
      ? Buffer.from(basic, "base64").toString().split(":")[0]!
      : (/^Bearer (.+)$/.exec(authorization)?.[1] ?? "");
    const key = keys.find((each) => each.secret === secret);
    const shown = `${secret.slice(0, 8)}***${secret.slice(-4)}`;
    if (secret === "") throw invalidRequest("You did not provide an API key.", {}, 401);
    if (!key) throw invalidRequest(`Invalid API Key provided: ${shown}`, {}, 401);
    if (route?.scope && key.scopes && !key.scopes.has(route.scope))
      throw invalidRequest(
        `The provided key '${shown}' does not have the required permissions for this endpoint on account '${account.id}'. Having the 'rak_${route.scope}' permission would allow this request to continue.`,
        {},
        403,
      );
    return key;
  }

  function checkVersion({ headers }: IncomingMessage) {
    const version = headers["stripe-version"];
    if (version !== undefined && version !== apiVersion)
      throw invalidRequest(`Invalid Stripe API version: ${version}. This account answers in ${apiVersion}.`);
  }

  function answer(request: IncomingMessage, body: string): { status: number; body: object } {
    const url = new URL(request.url!, "http://double");
    const found = findRoute(request.method!, url.pathname);
    const key = authenticate(request, found?.route);
    checkVersion(request);
    takeToken(key.secret);
    if (!found) throw invalidRequest(`Unrecognized request URL (${request.method}: ${url.pathname}).`, {}, 404);
    const name = `${request.method} ${found.route.path}`;
    requests.set(name, (requests.get(name) ?? 0) + 1);
    const fields = readForm(request.method === "POST" ? body : url.search.slice(1));
    const perform = () => {
      account.idempotencyKey = (request.headers["idempotency-key"] as string | undefined) ?? null;
      try {
        const object = found.route.answer({ account, billing, reasons, ids: found.ids, fields });
        return { status: 200, body: expand(account, structuredClone(object), fields.expand) };
      } finally {
        account.idempotencyKey = null;
      }
    };
    return request.method === "POST" ? once24h(request, key, `${name} ${found.ids} ${body}`, perform) : perform();
  }

  /** Answers a repeated key with the first reply, also if that was an error of the payment. */
  function once24h(
    { headers }: IncomingMessage,
    key: DoubleKey,
    fingerprint: string,
    perform: () => { status: number; body: object },
  ) {
    const given = headers["idempotency-key"];
    if (typeof given !== "string") return perform();
    const id = `${key.secret} ${given}`;
    const at = now().getTime();
    const stored = replies.get(id);
    if (stored && stored.at > at - IDEMPOTENCY_MS) {
      if (stored.fingerprint !== fingerprint)
        throw new StripeApiError(400, {
          type: "idempotency_error",
          message: `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${given}' if you meant to execute a different request.`,
        });
      if (stored.reply) return stored.reply;
    }
    const entry: StoredReply = { fingerprint, at, reply: null };
    replies.set(id, entry);
    try {
      entry.reply = perform();
    } catch (error) {
      // A request that was refused before it did anything is not stored.
      if (!(error instanceof StripeApiError) || error.status !== 402) replies.delete(id);
      else entry.reply = { status: error.status, body: { error: error.body } };
      throw error;
    }
    return entry.reply;
  }

  function handle(request: IncomingMessage, response: ServerResponse, body: string) {
    const requestId = account.newId("req");
    const send = (status: number, reply: object) =>
      response
        .writeHead(status, {
          "content-type": "application/json",
          "request-id": requestId,
          "stripe-version": apiVersion,
        })
        .end(JSON.stringify(reply));
    if (isDown) return void request.socket.destroy();
    try {
      account.runDue();
      const reply = answer(request, body);
      const route = findRoute(request.method!, new URL(request.url!, "http://double").pathname)?.route;
      if (answerHook?.(`${request.method} ${route?.path}`)) return void request.socket.destroy();
      send(reply.status, reply.body);
    } catch (error) {
      if (error instanceof StripeApiError) send(error.status, { error: error.body });
      else send(500, { error: { type: "api_error", message: (error as Error).stack ?? "" } });
    }
  }

  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("error", () => {});
    request.on("end", () => handle(request, response, Buffer.concat(chunks).toString("utf8")));
  };
  const server = options.tls ? createTlsServer(options.tls, listener) : createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    account,
    billing,
    port,
    url: `${options.tls ? "https" : "http"}://127.0.0.1:${port}`,
    requests,
    refusals: () => refusals,
    observe: (listener) => void listeners.push(listener),
    setDown(down) {
      isDown = down;
      if (down) server.closeAllConnections();
    },
    onAnswer(hook) {
      answerHook = hook;
    },
    async runDue() {
      account.runDue();
      await webhooks.idle();
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await webhooks.idle();
    },
  };
}

const PATTERNS = ROUTES.map((route) => ({
  route,
  pattern: new RegExp(`^${route.path.replaceAll(":id", "([^/]+)")}$`),
}));

function findRoute(method: string, path: string): { route: Route; ids: string[] } | undefined {
  for (const { route, pattern } of PATTERNS) {
    const match = route.method === method ? pattern.exec(path) : null;
    if (match) return { route, ids: match.slice(1).map(decodeURIComponent) };
  }
  return undefined;
}

/** Replaces ids by their objects along each path, such as `payment_intent.latest_charge` or `data.customer`. */
function expand(account: Account, object: object, paths: FormValue | undefined): object {
  if (!Array.isArray(paths)) return object;
  for (const path of paths) walk(account, object as FormFields, String(path).split("."));
  return object;
}

function walk(account: Account, holder: FormFields, [name, ...rest]: string[]) {
  if (name === undefined) return;
  if (Array.isArray(holder)) {
    for (const each of holder) walk(account, each as FormFields, [name, ...rest]);
    return;
  }
  if (name === "payments" && (holder as { object?: unknown }).object === "invoice") {
    const { payments } = expandPayments(account, holder as unknown as Stripe.Invoice);
    holder.payments = structuredClone(payments) as unknown as FormFields;
  }
  const value = holder[name];
  if (typeof value === "string") {
    const found = EXPANDED_KINDS.map((kind) => account.find<object>(kind, value)).find((each) => each !== undefined);
    if (found) holder[name] = structuredClone(found) as FormFields;
  }
  const next = holder[name];
  if (typeof next === "object" && next !== null) walk(account, next as FormFields, rest);
}

const EXPANDED_KINDS = ["customer", "payment_method", "subscription", "invoice", "payment_intent", "charge"];
