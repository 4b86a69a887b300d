import type Stripe from "stripe";
import { isRefusal, pushSplitting } from "../kit/push-splitting.ts";
import { mapCharge, mapInvoice, mapSubscription, subscriptionIdOf } from "./mapping.ts";
import { describeProblem } from "./problem-text.ts";
import { idOf, type Page, type PageQuery } from "./stripe-account.ts";
import { addVersions, type Syncing } from "./sync-invoice.ts";

const PHASES = ["subscriptions", "invoices", "charges"] as const;
type Phase = (typeof PHASES)[number];

export interface BackfillProgress {
  phase: Phase | "done";
  /** Records read so far. */
  counts: Record<Phase, number>;
  /** Of the present phase's time span, from 0 to 1. */
  share: number;
}

interface StoredProgress extends BackfillProgress {
  /** Seconds. */
  since: number;
  startedAt: number;
  /** The last object that was read, and its time. */
  after?: string | undefined;
  afterAt?: number | undefined;
}

const CURSOR = "backfill";
const DAY_S = 86_400;

export const readBackfill = async ({ store }: Pick<Syncing, "store">): Promise<BackfillProgress | null> =>
  JSON.parse((await store.readCursor(CURSOR)) ?? "null") as StoredProgress | null;

/**
 * Reads one page of the account's history and pushes it: first subscriptions, then invoices, then charges, each from the newest to the
 * oldest. Attempts are listed without their invoice, so the invoices' payments are kept until all are read. An open invoice is read
 * again by itself, because its case begins with its attempts. A page that was read before a crash is read again, and changes nothing.
 * A record that Dunlin refuses becomes a failing hint, so that the page's others go on.
 *
 * @param days  how far to read back
 */
export async function backfillPage(syncing: Syncing, days: number): Promise<BackfillProgress> {
  const { store } = syncing;
  const at = Math.floor(syncing.now().getTime() / 1_000);
  const progress = ((await readBackfill(syncing)) as StoredProgress | null) ?? firstProgress(at, at - days * DAY_S);
  if (progress.phase === "done") return progress;
  const { phase, since, startedAt, after, afterAt } = progress as StoredProgress & { phase: Phase };
  // Subscriptions may be older than their invoices.
  const query = {
    since: phase === "subscriptions" ? 0 : since,
    after: after === undefined ? undefined : { id: after, created: afterAt ?? at },
  };
  const { rows, hasMore } = await READERS[phase](syncing, query);
  const next: StoredProgress = {
    phase: hasMore ? phase : (PHASES[PHASES.indexOf(phase) + 1] ?? "done"),
    counts: { ...progress.counts, [phase]: progress.counts[phase] + rows.length },
    share: hasMore ? shareOf(rows.at(-1)!, startedAt, since) : 0,
    since,
    startedAt,
    ...(hasMore && { after: rows.at(-1)!.id, afterAt: rows.at(-1)!.created }),
  };
  if (next.phase === "done") await store.forgetPayments();
  await store.writeCursor(CURSOR, JSON.stringify(next));
  return next;
}

/** @param since  seconds; older objects are not read again */
export async function restartBackfill({ store, now }: Pick<Syncing, "store" | "now">, since: number) {
  await store.writeCursor(CURSOR, JSON.stringify(firstProgress(Math.floor(now().getTime() / 1_000), since)));
}

const firstProgress = (startedAt: number, since: number): StoredProgress => ({
  ...{ phase: "subscriptions", counts: { subscriptions: 0, invoices: 0, charges: 0 }, share: 0, startedAt, since },
});

const shareOf = ({ created }: { created: number }, startedAt: number, since: number) =>
  Math.max(0, Math.min(1, (startedAt - created) / Math.max(1, startedAt - since)));

type ReadPage = (syncing: Syncing, query: PageQuery) => Promise<Page<{ id: string; created: number }>>;

const READERS: Readonly<Record<Phase, ReadPage>> = {
  async subscriptions(syncing, query) {
    const { account, store, dunlin } = syncing;
    const readNo = await store.beginRead();
    const page = await account.pageSubscriptions(query);
    const records = await addVersions(store, page.rows.map(mapSubscription), readNo);
    await pushPage(syncing, records, (some) => dunlin.ingest.subscriptions(some), idOfRecord);
    return page;
  },
  async invoices(syncing, query) {
    const { account, store, dunlin, now } = syncing;
    const readNo = await store.beginRead();
    const page = await account.pageInvoices(query);
    const ended = page.rows.filter(({ status }) => status !== "open" && status !== "draft");
    await store.keepPayments(ended.flatMap(paymentOwnersOf));
    const open = page.rows.filter(({ status }) => status === "open");
    await store.hint(
      [...open, ...ended.filter(hasMorePayments)].map(({ id }) => id),
      now(),
    );
    const mapped = ended.filter((invoice) => !hasMorePayments(invoice)).map((invoice) => mapInvoice(invoice, []));
    const records = await addVersions(store, mapped, readNo);
    await pushPage(syncing, records, (some) => dunlin.ingest.invoices(some), idOfRecord);
    return page;
  },
  async charges(syncing, query) {
    const { account, store, dunlin } = syncing;
    const readNo = await store.beginRead();
    const page = await account.pageCharges(query);
    const owners = await store.findPayments(page.rows.map(paymentIdOf));
    const known = page.rows.filter((charge) => owners.has(paymentIdOf(charge)));
    const actions = await store.actionsOfCharges(known.map(({ id }) => id));
    const owned = await store.ownershipOf(known.map((charge) => owners.get(paymentIdOf(charge))!.invoiceId));
    const won = await account.findWonDisputes(known);
    const mapped = known.map((charge) => {
      const { invoiceId, customerId, subscriptionId } = owners.get(paymentIdOf(charge))!;
      const payer = { customerId: customerId ?? undefined, subscriptionId: subscriptionId ?? undefined };
      const origin = {
        actionId: actions.get(charge.id),
        owned: owned.get(invoiceId) ?? null,
        isWon: won.has(charge.id),
      };
      return mapCharge(charge, { invoiceId, ...payer, ...origin });
    });
    const records = await addVersions(store, mapped, readNo);
    await pushPage(
      syncing,
      records,
      (some) => dunlin.ingest.transactions(some),
      ({ invoiceId }) => invoiceId!,
    );
    return page;
  },
};

const REFUSED_DELAY_MS = 60_000;
const idOfRecord = ({ id }: { id: string }) => id;

/** @param hintOf  the object to read again instead of a record that Dunlin refuses */
async function pushPage<Row>(
  { store, now }: Syncing,
  records: readonly Row[],
  push: (records: Row[]) => Promise<unknown>,
  hintOf: (record: Row) => string,
) {
  for (const { item, error } of await pushSplitting(records, (some) => push([...some]))) {
    if (!isRefusal(error)) throw error;
    const objectId = hintOf(item);
    const later = new Date(now().getTime() + REFUSED_DELAY_MS);
    await store.hint([objectId], later);
    await store.failHint({ objectId, generation: 1, tries: 1 }, later, describeProblem(error));
  }
}

const hasMorePayments = ({ payments }: Stripe.Invoice) => payments?.has_more ?? false;

/** A payment without an intent is a charge alone. */
const paymentIdOf = (charge: Stripe.Charge) => idOf(charge.payment_intent) ?? charge.id;

const paymentOwnersOf = (invoice: Stripe.Invoice) =>
  (invoice.payments?.data ?? []).flatMap(({ payment }) => {
    const paymentId = idOf(payment.payment_intent) ?? idOf(payment.charge);
    const customerId = idOf(invoice.customer) ?? null;
    const subscriptionId = subscriptionIdOf(invoice) ?? null;
    return paymentId === undefined ? [] : [{ paymentId, invoiceId: invoice.id, customerId, subscriptionId }];
  });
