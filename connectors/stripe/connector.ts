import Stripe from "stripe";
import { createPacer } from "../kit/pacer.ts";
import { type Client, createWebhookReceiver, type WebhookReceiver } from "../kit/sdk.ts";
import type { ConnectorStore } from "../kit/store.ts";
import { changedObjectsOf, EVENT_TYPES } from "./changed-objects.ts";
import { executeAction } from "./execute-action.ts";
import { type CompleteDunning, followEvent } from "./follow-dunlin.ts";
import { API_VERSION, createStripeAccount } from "./stripe-account.ts";
import { syncInvoice, syncSubscription } from "./sync-invoice.ts";

export interface ConnectorOptions {
  stripe: Stripe;
  /** Whether the key is of live mode; events of the other mode are refused. */
  isLive: boolean;
  /** Signs Stripe's webhooks; two during a rotation. */
  webhookSecrets: readonly string[];
  dunlin: Pick<Client, "ingest">;
  /** The bearer token of Dunlin's webhooks. */
  dunlinToken: string;
  store: ConnectorStore;
  /** Names the connection: the mark on invoices that Dunlin handles. */
  connection: string;
  completeDunning: CompleteDunning;
  /** Calls to Stripe per second. */
  callsPerSecond: number;
  /** How old a signature may be, in seconds of service time. Default: 300, as Stripe advises. */
  signatureToleranceS?: number;
  /** Service time: Dunlin's clock. */
  now(): Date;
  nowMs(): number;
  sleep(ms: number): Promise<unknown>;
  log(level: "info" | "warn" | "error", message: string, fields?: Record<string, unknown>): void;
}

export interface StripeConnector {
  /** Takes a webhook of Stripe. Returns the HTTP status. */
  receive(body: string, signature: string | undefined): Promise<number>;
  /** Takes Dunlin's webhooks. */
  dunlinReceiver: WebhookReceiver;
  /** Reads events that no webhook brought. Returns how many. */
  pollEvents(): Promise<number>;
  /** Reads changed objects from Stripe and pushes them. Returns how many. */
  drainHints(): Promise<number>;
  /** Carries out due actions. Returns how many actions were tried. */
  executeDue(): Promise<number>;
  /** Reads invoices from `months` ago on, a page at a time. Returns whether there is more. */
  backfillPage(months: number): Promise<BackfillProgress>;
  stop(): Promise<void>;
}

export interface BackfillProgress {
  invoices: number;
  isDone: boolean;
}

const HINTS_AT_ONCE = 20;
const ACTIONS_AT_ONCE = 20;
const CLAIM_MS = 5 * 60_000;
const HINT_DELAY_MAX_MS = 60 * 60_000;
/** Stripe may list an event a little after its time. */
const EVENTS_OVERLAP_S = 30;
const EVENTS_KEPT_S = 30 * 86_400;
const SIGNATURE_TOLERANCE_S = 300;

export function createStripeConnector(options: ConnectorOptions): StripeConnector {
  const { stripe, store, dunlin, connection, now, log } = options;
  const account = createStripeAccount(stripe, createPacer(options.callsPerSecond, options));
  const syncing = { account, store, dunlin };
  const following = {
    ...{ account, store, mark: connection, completeDunning: options.completeDunning },
    hint: (invoiceId: string) => store.hint([invoiceId], now()),
  };
  const dunlinReceiver = createWebhookReceiver({
    auth: { bearer: options.dunlinToken },
    store: store.events,
    handle: (event) => followEvent(following, event, now()),
    onError: (error, event) => log("warn", "connector.event-failed", { eventId: event?.id, problem: String(error) }),
    now,
  });
  /** Of the last polls, so that the overlap is not read twice. */
  const seen = new Set<string>();

  async function note(event: Stripe.Event) {
    if (event.livemode !== options.isLive) {
      log("warn", "connector.other-mode", { eventId: event.id });
      return;
    }
    await store.hint(await changedObjectsOf(account, event), now());
  }

  async function drainHint(hint: Awaited<ReturnType<ConnectorStore["claimHints"]>>[number]) {
    try {
      const { objectId } = hint;
      await (objectId.startsWith("sub_") ? syncSubscription(syncing, objectId) : syncInvoice(syncing, objectId));
      await store.endHint(hint, now());
    } catch (error) {
      const delayMs = Math.min(HINT_DELAY_MAX_MS, 2_000 * 2 ** Math.min(hint.tries, 12));
      await store.failHint(hint, new Date(now().getTime() + delayMs), String(error));
      log("warn", "connector.sync-failed", { objectId: hint.objectId, problem: String(error) });
    }
  }

  return {
    dunlinReceiver,
    async receive(body, signature) {
      const event = readSignedEvent(options, body, signature);
      await store.writeCursor(event ? "webhook-accepted" : "webhook-refused", now().toISOString());
      if (!event) {
        log("warn", "connector.webhook-refused", { problem: "the signature does not fit a secret, or is too old" });
        return 400;
      }
      await note(event);
      return 200;
    },
    async pollEvents() {
      const at = Math.floor(now().getTime() / 1_000);
      const cursor = Number((await store.readCursor("events")) ?? at);
      const since = Math.max(cursor - EVENTS_OVERLAP_S, at - EVENTS_KEPT_S);
      let latest = cursor;
      let count = 0;
      for await (const event of account.listEvents(EVENT_TYPES, since)) {
        latest = Math.max(latest, event.created);
        if (seen.has(event.id)) continue;
        seen.add(event.id);
        await note(event);
        count++;
      }
      await store.writeCursor("events", String(latest));
      if (seen.size > 20_000) seen.clear();
      return count;
    },
    async drainHints() {
      const claimed = await store.claimHints(HINTS_AT_ONCE, now(), new Date(now().getTime() + CLAIM_MS));
      for (const hint of claimed) await drainHint(hint);
      return claimed.length;
    },
    async executeDue() {
      const due = await store.dueActions(ACTIONS_AT_ONCE, now());
      for (const action of due)
        await executeAction(syncing, action, connection, now()).catch(async (error) => {
          log("warn", "connector.action-failed", { actionId: action.id, problem: String(error) });
          await store.delayAction(action.id, new Date(now().getTime() + 60_000), String(error));
        });
      return due.length;
    },
    async backfillPage(months) {
      const stored = JSON.parse((await store.readCursor("backfill")) ?? "null") as StoredBackfill | null;
      const since = stored?.since ?? Math.floor(now().getTime() / 1_000) - months * 30 * 86_400;
      const progress = stored ?? { since, after: undefined, invoices: 0, isDone: false };
      if (progress.isDone) return progress;
      const { ids, hasMore } = await account.pageInvoices(since, progress.after);
      for (const id of ids) await syncInvoice(syncing, id);
      const next = { since, after: ids.at(-1), invoices: progress.invoices + ids.length, isDone: !hasMore };
      await store.writeCursor("backfill", JSON.stringify(next));
      return next;
    },
    stop: () => dunlinReceiver.stop(),
  };
}

interface StoredBackfill extends BackfillProgress {
  since: number;
  after?: string | undefined;
}

/** Null: the signature does not fit, or is too old. */
function readSignedEvent(
  { stripe, webhookSecrets, signatureToleranceS = SIGNATURE_TOLERANCE_S, now }: ConnectorOptions,
  body: string,
  signature: string | undefined,
): Stripe.Event | null {
  for (const secret of webhookSecrets)
    try {
      const at = now().getTime();
      return stripe.webhooks.constructEvent(body, signature ?? "", secret, signatureToleranceS, undefined, at);
    } catch (error) {
      if (!(error instanceof Stripe.errors.StripeSignatureVerificationError)) throw error;
    }
  return null;
}

/** A client that answers in the version of the mapping. @param base  another address than Stripe's, for tests */
export function createStripeClient(key: string, base?: URL): Stripe {
  return new Stripe(key, {
    apiVersion: API_VERSION,
    maxNetworkRetries: 2,
    ...(base && {
      host: base.hostname,
      port: base.port,
      protocol: base.protocol === "http:" ? "http" : "https",
    }),
  });
}
