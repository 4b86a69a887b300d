import { prepared, type Tx } from "../postgres/database.ts";
import { allowErasure } from "./audit-log.ts";

/**
 * Invoice `i` and its records are older than `$3`, and no running experiment counts it. An invoice in recovery needs other
 * records to delete: its own row stays.
 */
const IS_EXPIRED = `i.updated_at < $3
     and not exists (
       select from cases k
       where k.merchant_id = $1 and k.invoice_id = i.id and coalesce(k.ended_at, 'infinity') >= $3 offset 0)
     and not exists (
       select from transactions t where t.merchant_id = $1 and t.invoice_id = i.id and t.updated_at >= $3 offset 0)
     and not exists (
       select from experiment_invoices e
       where e.merchant_id = $1 and e.invoice_id = i.id
         and e.experiment_id = any(array(select id from experiments where merchant_id = $1 and look_at is not null)) offset 0)
     and (
       i.state not in ('UNPAID', 'PARTIALLY_PAID')
       or exists (
         select from cases k
         where k.merchant_id = $1 and k.invoice_id = i.id and (
           exists (select from recovery_actions r where r.merchant_id = $1 and r.case_id = k.id offset 0)
           or exists (select from decisions d where d.merchant_id = $1 and d.case_id = k.id offset 0)) offset 0)
       or exists (
         select from transactions t
         where t.merchant_id = $1 and t.invoice_id = i.id and t.state not in ('PAID', 'REFUNDED') offset 0))`;

const PAGE = prepared(
  "page_of_old_invoices",
  `with page as materialized (
     select id, state, updated_at from invoices where merchant_id = $1 and id > $2 order by id limit $4
   )
   select
     (select max(id) from page) as last,
     coalesce((select array_agg(id order by id) from page i where ${IS_EXPIRED}), '{}') as ids`,
);

/** `last`: the last id read; null at the end. */
export interface ExpiredInvoicePage {
  last: string | null;
  ids: string[];
}

export async function readExpiredInvoicePage(tx: Tx, merchantId: string, after: string, until: Date, limit: number) {
  return (await tx.run<ExpiredInvoicePage>(PAGE, [merchantId, after, until, limit])).rows[0]!;
}

const LOCK_INVOICES = prepared(
  "hold_old_invoices",
  "select id from invoices where merchant_id = $1 and id = any($2::text[]) order by id for update",
);
const RECHECK_EXPIRED = prepared(
  "old_invoices",
  `select i.id, i.state in ('UNPAID', 'PARTIALLY_PAID') as "isOwed"
   from invoices i
   where i.merchant_id = $1 and i.id = any($2::text[]) and ${IS_EXPIRED}`,
);

/** Prevents a newer version. */
export async function lockExpiredInvoices(tx: Tx, merchantId: string, ids: readonly string[]) {
  await tx.run(LOCK_INVOICES, [merchantId, ids]);
}

/** `isOwed`: the invoice stays, with its cases and payments. */
export async function recheckExpiredInvoices(tx: Tx, merchantId: string, ids: readonly string[], until: Date) {
  return (await tx.run<{ id: string; isOwed: boolean }>(RECHECK_EXPIRED, [merchantId, ids, until])).rows;
}

const PAYMENTS = prepared(
  "payments_on_invoices",
  `select id from transactions
   where merchant_id = $1 and invoice_id = any($2::text[]) and state in ('PAID', 'REFUNDED')`,
);

/** Even in part or refunded. */
export async function paymentsOn(tx: Tx, merchantId: string, invoiceIds: readonly string[]): Promise<string[]> {
  return (await tx.run<{ id: string }>(PAYMENTS, [merchantId, invoiceIds])).rows.map(({ id }) => id);
}

const DISPUTED = prepared(
  "disputed_instruments",
  `select coalesce(card_fingerprint, '') as card, coalesce(payment_method_id, '') as method from transactions
   where merchant_id = $1 and state = 'DISPUTED' and (card_fingerprint = any($2::text[]) or payment_method_id = any($3::text[]))`,
);

/** Card and payment method of disputed payments that used one of these; empty means unknown. */
export async function disputedInstruments(
  tx: Tx,
  merchantId: string,
  cards: readonly string[],
  methods: readonly string[],
) {
  return (await tx.run<{ card: string; method: string }>(DISPUTED, [merchantId, cards, methods])).rows;
}

const SUBSCRIPTIONS = prepared(
  "delete_old_subscriptions",
  `with page as materialized (
     select * from subscriptions where merchant_id = $1 and id > $2 order by id limit $4
   ), deleted as (
     delete from subscriptions s using page
     where s.merchant_id = $1 and s.id = page.id and s.state in ('CANCELED', 'EXPIRED') and s.updated_at < $3
       and coalesce(s.canceled_at, '-infinity') < $3 and coalesce(s.expires_at, '-infinity') < $3
       and not exists (
         select from cases k where k.merchant_id = $1 and k.subscription_id = s.id and k.ended_at is null offset 0)
     returning 1
   )
   select (select max(id) from page) as last, (select count(*) from deleted) as deleted`,
);

/** Checks the next `limit` ids for subscriptions that ended and last changed before `until`. */
export async function deleteOldSubscriptions(tx: Tx, merchantId: string, after: string, until: Date, limit: number) {
  const { rows } = await tx.run<{ last: string | null; deleted: number }>(SUBSCRIPTIONS, [
    merchantId,
    after,
    until,
    limit,
  ]);
  return rows[0]!;
}

const AUDITED = prepared(
  "delete_old_audited",
  `delete from audit_log where merchant_id = $1
     and id in (select id from audit_log where merchant_id = $1 and at < $2 order by id limit $3)`,
);

/** Returns how many. Needs the table owner's transaction. */
export async function deleteOldAuditEntries(tx: Tx, merchantId: string, until: Date, limit: number) {
  await allowErasure(tx);
  return (await tx.run(AUDITED, [merchantId, until, limit])).rowCount;
}
