import Stripe from "stripe";
import { forEachAtOnce } from "../kit/loops.ts";
import { createPacer } from "../kit/pacer.ts";
import { pushSplitting } from "../kit/push-splitting.ts";
import { type Client, createWebhookReceiver, DunlinError, type WebhookReceiver } from "../kit/sdk.ts";
import type { ConnectorStore, Hint } from "../kit/store.ts";
import { type BackfillProgress, backfillPage, restartBackfill } from "./backfill.ts";
import { changedObjectsOf, EVENT_TYPES } from "./changed-objects.ts";
import { type Executing, executeAction } from "./execute-action.ts";
import { type CompleteDunning, followEvent, release } from "./follow-dunlin.ts";
import { describeProblem } from "./problem-text.ts";
import { API_VERSION, createStripeAccount, isRateLimit, type StripeAccount } from "./stripe-account.ts";
import { pushRecords, type Records, readInvoiceAgain, readSubscriptionAgain } from "./sync-invoice.ts";

export interface ConnectorOptions {
  stripe: Stripe;
  /** Whether the key is for live mode; events from the other mode are refused. */
  isLive: boolean;
  /** Signs Stripe's webhooks; two during a rotation. */
  webhookSecrets: readonly string[];
  dunlin: Pick<Client, "ingest" | "invoices">;
  /** The bearer token in Dunlin's webhooks. */
  dunlinToken: string;
  store: ConnectorStore;
  /** Marks invoices that Dunlin handles. */
  mark: string;
  completeDunning: CompleteDunning;
  /** Asks customers for another card; by default no customer is asked. */
  askForCard?: Executing["askForCard"];
  /** Calls to Stripe per second. */
  callsPerSecond: number;
  onCall?(outcome: "answered" | "refused" | "failed"): void;
  /** How old a signature may be, in seconds of service time. Default: 300, as Stripe advises. */
  signatureToleranceS?: number;
  /** Service time: Dunlin's clock. */
  now(): Date;
  /** How fast service time runs; leases are real time. */
  clockRate: number;
  realNow(): Date;
  nowMs(): number;
  sleep(ms: number): Promise<unknown>;
  log(level: "info" | "warn" | "error", message: string, fields?: Record<string, unknown>): void;
}

export interface StripeConnector {
  account: StripeAccount;
  /** Takes a webhook from Stripe. Returns the HTTP status. */
  receive(body: string, signature: string | undefined): Promise<number>;
  /** Takes Dunlin's webhooks. */
  dunlinReceiver: WebhookReceiver;
  /** Reads events that no webhook brought. Returns how many. */
  pollEvents(): Promise<number>;
  /** Reads changed objects from Stripe and pushes them. Returns how many. */
  drainHints(): Promise<number>;
  /** Carries out due actions. Returns how many were tried. */
  executeDue(): Promise<number>;
  /**
   * Gives invoices back whose release was interrupted, or whose end Dunlin could not deliver: Dunlin gives a webhook up after some days
   * without an answer. Returns how many.
   */
  releaseEnded(): Promise<number>;
  /** Reads a page of the account's history from `days` ago on. */
  backfillPage(days: number): Promise<BackfillProgress>;
  stop(): Promise<void>;
}

const HINTS_PER_ROUND = 50;
const ACTIONS_PER_ROUND = 50;
/** Most of a call's time is spent waiting for Stripe. */
const CALLS_AT_ONCE = 12;
const CLAIM_MS = 60_000;
const HINT_DELAY_MAX_MS = 60 * 60_000;
/** The outcome of a charge is known soon, and its own process pushes it. */
const CHARGING_DELAY_MS = 2_000;
/** How often Dunlin is asked about an invoice that it handles; service time. */
const CHECK_EVERY_MS = 6 * 3_600_000;
/** How often a release that failed is tried again. */
const RELEASE_EVERY_MS = 60_000;
/** Stripe may list an event a little after its time. */
const EVENTS_OVERLAP_S = 30;
const CLOCKS_DIFFER_S = 3_600;
const EVENTS_KEPT_S = 30 * 86_400;
/** Invoices that were created earlier have ended by then, or Dunlin handles them. */
const REREAD_S = 60 * 86_400;
const OWNED_MAX = 1_000_000;
const SEEN_EVENTS_MAX = 20_000;
const SIGNATURE_TOLERANCE_S = 300;

export function createStripeConnector(options: ConnectorOptions): StripeConnector {
  const { stripe, store, dunlin, mark, now, log } = options;
  const account = createStripeAccount(
    stripe,
    createPacer(options.callsPerSecond, { ...options, isRefused: isRateLimit }),
  );
  const executing: Executing = {
    ...{ account, store, dunlin, now, mark },
    askForCard: options.askForCard ?? (async () => "The customer has to change the card; messages are off."),
  };
  const following = {
    ...{ account, store, mark, completeDunning: options.completeDunning },
    readEndReason: async (invoiceId: string) => (await explain(invoiceId))?.endReason ?? null,
    hint: (invoiceId: string) => store.hint([invoiceId], now()),
  };
  const dunlinReceiver = createWebhookReceiver({
    auth: { bearer: options.dunlinToken },
    store: store.events,
    handle: (event) => followEvent(following, event, now()),
    onError: (error, event) => log("warn", "connector.event-failed", { eventId: event?.id, problem: String(error) }),
    now: options.realNow,
  });
  /** From webhooks and the last polls, so that an event is not read twice. */
  const seen = new Set<string>();

  async function note(event: Stripe.Event) {
    if (event.livemode !== options.isLive) {
      log("warn", "connector.other-mode", { eventId: event.id });
      return;
    }
    await store.hint(changedObjectsOf(event), now());
    await store.writeCursor("last-event", new Date(event.created * 1_000).toISOString());
  }

  const later = (ms: number) => new Date(now().getTime() + ms);

  async function failHint(hint: Hint, error: unknown) {
    const delayMs = Math.min(HINT_DELAY_MAX_MS, 2_000 * 2 ** Math.min(hint.tries, 12));
    const problem = describeProblem(error);
    await store.failHint(hint, later(delayMs), problem);
    log("warn", "connector.sync-failed", { objectId: hint.objectId, problem });
  }

  /** Returns the records of a changed object; null: there are none. Undefined: it has to wait. */
  async function readAgain(objectId: string): Promise<Records | null | undefined> {
    if (objectId.startsWith("sub_")) return readSubscriptionAgain(executing, objectId);
    if (objectId.startsWith("pi_")) {
      const invoiceId = await account.invoiceOfPayment(objectId);
      if (invoiceId !== null) await store.hint([invoiceId], now());
      return null;
    }
    if (objectId.startsWith("cus_")) {
      await store.hint(await store.ownedInvoicesOf(objectId), now());
      return null;
    }
    if (await store.isCharging(objectId)) return undefined;
    return (await readInvoiceAgain(executing, objectId))?.records ?? null;
  }

  async function readHints(hints: readonly Hint[]): Promise<{ hint: Hint; records: Records }[]> {
    const read: { hint: Hint; records: Records }[] = [];
    await forEachAtOnce(hints, CALLS_AT_ONCE, async (hint) => {
      try {
        const records = await readAgain(hint.objectId);
        if (records) read.push({ hint, records });
        else if (records === null) await store.endHint(hint, now());
        else await store.hint([hint.objectId], later(CHARGING_DELAY_MS));
      } catch (error) {
        await failHint(hint, error);
      }
    });
    return read;
  }

  async function pushHints(read: readonly { hint: Hint; records: Records }[]) {
    const failures = await pushSplitting(read, async (some) => {
      await pushRecords(
        executing,
        some.map(({ records }) => records),
      );
      for (const { hint } of some) await store.endHint(hint, now());
    });
    for (const { item, error } of failures) await failHint(item.hint, error);
  }

  /** Null: Dunlin does not know the invoice. */
  async function explain(invoiceId: string) {
    return await dunlin.invoices.explain(invoiceId).catch((error) => {
      if (error instanceof DunlinError && error.code === 404) return null;
      throw error;
    });
  }

  /** Ends what this connector does for an invoice that Dunlin no longer handles. */
  async function checkOwned(invoiceId: string) {
    const askedAt = now();
    if ((await explain(invoiceId))?.recovery === "RECOVERY_OPEN") return;
    log("warn", "connector.end-missed", { invoiceId });
    await store.disown(invoiceId, askedAt);
    await store.dropPlans(invoiceId, askedAt, "Dunlin no longer handles this invoice.");
    await store.messages.dropPlans(invoiceId, askedAt, "Dunlin no longer handles this invoice.");
  }

  /** One invoice that fails must not keep the others waiting. Returns how many were done. */
  async function forEachInvoice(invoiceIds: readonly string[], name: string, work: (id: string) => Promise<void>) {
    let count = 0;
    for (const invoiceId of invoiceIds)
      try {
        await work(invoiceId);
        count++;
      } catch (error) {
        log("warn", name, { invoiceId, problem: String(error) });
      }
    return count;
  }

  return {
    account,
    dunlinReceiver,
    async receive(body, signature) {
      const event = readSignedEvent(options, body, signature);
      await store.writeCursor(event ? "webhook-accepted" : "webhook-refused", now().toISOString());
      if (!event) {
        log("warn", "connector.webhook-refused", { problem: "the signature does not fit a secret, or is too old" });
        return 400;
      }
      await note(event);
      // The next poll leaves it out.
      seen.add(event.id);
      return 200;
    },
    async pollEvents() {
      const at = Math.floor(now().getTime() / 1_000);
      const cursor = Number((await store.readCursor("events")) ?? at);
      // Stripe keeps events for 30 days. After a longer rest, history is read again from where it ended.
      if (cursor < at - EVENTS_KEPT_S && (await store.readCursor("events-lost-after")) !== String(cursor)) {
        await restartBackfill(executing, cursor - REREAD_S);
        await store.hint(await store.listOwned(OWNED_MAX), now());
        // Not once more if the rest of this poll fails.
        await store.writeCursor("events-lost-after", String(cursor));
      }
      // An account without events moves on too, but not past the events of a clock that is behind ours.
      let latest = Math.max(cursor, at - CLOCKS_DIFFER_S);
      let count = 0;
      for await (const event of account.listEvents(EVENT_TYPES, cursor - EVENTS_OVERLAP_S)) {
        latest = Math.max(latest, event.created);
        if (seen.has(event.id)) continue;
        await note(event);
        seen.add(event.id);
        count++;
      }
      await store.writeCursor("events", String(latest));
      await store.writeCursor("last-poll", now().toISOString());
      if (seen.size > SEEN_EVENTS_MAX) seen.clear();
      return count;
    },
    async drainHints() {
      const claimed = await store.claimHints(HINTS_PER_ROUND, now(), later(CLAIM_MS * options.clockRate));
      await pushHints(await readHints(claimed));
      return claimed.length;
    },
    async executeDue() {
      const due = await store.dueActions(ACTIONS_PER_ROUND, now());
      await forEachAtOnce(due, CALLS_AT_ONCE, (action) =>
        executeAction(executing, action).catch(async (error) => {
          log("warn", "connector.action-failed", { actionId: action.id, problem: String(error) });
          await store.delayAction(action.id, new Date(now().getTime() + 60_000), String(error));
        }),
      );
      return due.length;
    },
    async releaseEnded() {
      const owned = await store.claimUnchecked(ACTIONS_PER_ROUND, later(-CHECK_EVERY_MS), now());
      await forEachInvoice(owned, "connector.check-failed", (id) =>
        checkOwned(id).catch(async (error) => {
          await store.recheck(id);
          throw error;
        }),
      );
      const ended = await store.claimUnreleased(ACTIONS_PER_ROUND, later(-RELEASE_EVERY_MS), now());
      return await forEachInvoice(ended, "connector.release-failed", (id) => release(following, id, now()));
    },
    async backfillPage(days) {
      // Changes during the backfill are read from the events since its start.
      if ((await store.readCursor("events")) === null)
        await store.writeCursor("events", String(Math.floor(now().getTime() / 1_000)));
      return backfillPage(executing, days);
    },
    stop: () => dunlinReceiver.stop(),
  };
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
    telemetry: false,
    ...(base && {
      host: base.hostname,
      port: base.port,
      protocol: base.protocol === "http:" ? "http" : "https",
    }),
  });
}
