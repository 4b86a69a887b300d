import { DAY_MS } from "../domain/durations.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import { barsCard } from "../rules/guard.ts";
import { lockCasesOfInvoices } from "../store/cases.ts";
import type { Database, Tx } from "../store/database.ts";
import { deleteCases, deleteInvoices, emptyCases } from "../store/erasure.ts";
import { advanceMerchantClock } from "../store/merchant-clocks.ts";
import { listMerchants } from "../store/merchants.ts";
import {
  deleteOldAudited,
  deleteOldSubscriptions,
  disputedInstruments,
  holdOldInvoices,
  oldInvoices,
  pageOfOldInvoices,
  paymentsOn,
} from "../store/retention.ts";
import { declinesBefore, type TransactionFacts, transactionsForCases } from "../store/transactions.ts";
import { codesOf, instrumentOf } from "./known.ts";
import { BILLS_MS } from "./views.ts";

/** How many days records are kept after their end; null: forever. */
export interface KeepDays {
  invoices: number | null;
  subscriptions: number | null;
  audit: number | null;
}

export interface Retaining {
  db: Database;
  /** The owner of the tables, for the audit log. */
  owner: Database;
  ports: Pick<Ports, "now">;
  keep: KeepDays;
}

/** Numbers of deleted records. */
export interface Gone {
  invoices: number;
  cases: number;
  subscriptions: number;
  auditEntries: number;
}

/** Rows that are looked at, and invoices that are deleted, in one transaction. */
const LOOKED_AT_ONCE = 1_000;
const DELETED_AT_ONCE = 100;
/** The outcome of a retry can be reported this long after its window. */
const LATE_MS = 14 * DAY_MS;

/** Goes through all records once and deletes the old ones. Yields after each transaction, so that the caller can stop there. */
export async function* deleteOld(retaining: Retaining): AsyncGenerator<Partial<Gone>> {
  const { db, owner, ports, keep } = retaining;
  for (const merchant of await listMerchants(db)) {
    const until = (days: number) => oldestOf(merchant, days, ports.now());
    if (keep.invoices !== null) yield* oldInvoicesOf(retaining, merchant.id, until(keep.invoices));
    for (let after: string | null = ""; keep.subscriptions !== null && after !== null; ) {
      const page = await deleteOldSubscriptions(db, merchant.id, after, until(keep.subscriptions), LOOKED_AT_ONCE);
      yield { subscriptions: page.deleted };
      after = page.last;
    }
    for (let isMore = keep.audit !== null; isMore; ) {
      const before = new Date(ports.now().getTime() - keep.audit! * DAY_MS);
      const auditEntries = await owner.transaction((tx) => deleteOldAudited(tx, merchant.id, before, LOOKED_AT_ONCE));
      yield { auditEntries };
      isMore = auditEntries === LOOKED_AT_ONCE;
    }
  }
}

/** The engine reads invoices from before a case, which can last for its whole window. So they stay, however few days the setting says. */
function oldestOf({ windowDays }: Merchant, days: number, now: Date): Date {
  return new Date(now.getTime() - Math.max(days * DAY_MS, BILLS_MS + windowDays * DAY_MS + LATE_MS));
}

async function* oldInvoicesOf(
  { db, ports }: Retaining,
  merchantId: string,
  until: Date,
): AsyncGenerator<Partial<Gone>> {
  for (let after: string | null = ""; after !== null; ) {
    const page = await pageOfOldInvoices(db, merchantId, after, until, LOOKED_AT_ONCE);
    if (page.ids.length === 0) yield {};
    for (let from = 0; from < page.ids.length; from += DELETED_AT_ONCE) {
      const ids = page.ids.slice(from, from + DELETED_AT_ONCE);
      yield await db.transaction((tx) => deleteIfOld(tx, merchantId, ids, until, ports.now()));
    }
    after = page.last;
  }
}

/** Checks them again under a lock, then deletes them. */
async function deleteIfOld(tx: Tx, merchantId: string, ids: readonly string[], until: Date, now: Date) {
  await holdOldInvoices(tx, merchantId, ids);
  const cases = await lockCasesOfInvoices(tx, merchantId, ids);
  const old = await oldInvoices(tx, merchantId, ids, until);
  const oldIds = old.map(({ id }) => id);
  // Without its cases and payments, the next version or attempt of an unpaid invoice would start its recovery again, for money that was paid.
  const invoices = old.filter(({ isOwed }) => isOwed).map(({ id }) => id);
  const oldCases = cases.filter(({ invoiceId }) => oldIds.includes(invoiceId));
  const gone = oldCases.filter(({ invoiceId }) => !invoices.includes(invoiceId)).map(({ id }) => id);
  if (oldCases.length > 0) {
    await advanceMerchantClock(tx, merchantId, now);
    await emptyCases(
      tx,
      merchantId,
      oldCases.map(({ id }) => id),
    );
    await deleteCases(tx, merchantId, gone);
  }
  const transactions = [
    ...(await barringAttempts(tx, merchantId, oldIds, now)),
    ...(await paymentsOn(tx, merchantId, invoices)),
  ];
  await deleteInvoices(tx, merchantId, oldIds, { invoices, transactions });
  return { invoices: oldIds.length - invoices.length, cases: gone.length };
}

/** Returns the attempts that decide whether an instrument may be charged, of any age: disputes and declines that block it, and payments that clear it. */
async function barringAttempts(tx: Tx, merchantId: string, invoiceIds: readonly string[], now: Date) {
  const attempts = await transactionsForCases(tx, merchantId, invoiceIds, [], now);
  const clearing = attempts.filter(({ state }) => state === "PAID" || state === "REFUNDED");
  const [cards, methods] = [known(clearing, "cardFingerprint"), known(clearing, "paymentMethodId")];
  const declines = await declinesBefore(tx, merchantId, cards, now);
  const disputes = await disputedInstruments(tx, merchantId, cards, methods);
  const barred = new Set([
    ...declines.filter(isBarring).map((t) => t.cardFingerprint),
    ...disputes.map(({ card }) => card),
  ]);
  const disputed = new Set(disputes.map(({ method }) => method));
  const clears = (t: TransactionFacts) =>
    barred.has(t.cardFingerprint ?? "?") || disputed.has(t.paymentMethodId ?? "?");
  return [...attempts.filter(isBarring), ...clearing.filter(clears)].map(({ id }) => id);
}

const isBarring = (t: TransactionFacts) =>
  t.state === "DISPUTED" || (t.state === "FAILED" && barsCard(codesOf(t), instrumentOf(t)));

const known = (attempts: readonly TransactionFacts[], field: "cardFingerprint" | "paymentMethodId") => [
  ...new Set(attempts.flatMap((t) => t[field] ?? [])),
];
