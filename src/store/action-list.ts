import type { ActionStatus, ActionType, RecoveryAction } from "../domain/recovery-action.ts";
import { prepared, type Statement, type Tx } from "./database.ts";

export const ORDERS = ["executed_at", "created_at", "updated_at"] as const;
export type Order = (typeof ORDERS)[number];

/** Columns that a listing may ask to be equal to a value. */
const FILTERS = {
  subscriptionId: "subscription_id",
  invoiceId: "invoice_id",
  customerId: "customer_id",
  transactionId: "transaction_id",
  cardCountry: "card_country",
  currency: "currency",
  type: "type",
  status: "status",
} as const;

export interface ActionFilters {
  subscriptionId?: string;
  invoiceId?: string;
  customerId?: string;
  transactionId?: string;
  cardCountry?: string;
  currency?: string;
  type?: ActionType;
  status?: ActionStatus;
  /** Both inclusive, in whole milliseconds. */
  executedAfter?: Date;
  executedBefore?: Date;
}

/** Where a page ended: the value it is ordered by, in microseconds as PostgreSQL writes it, and the id that breaks ties. */
export interface Cursor {
  at: string;
  id: string;
}

export interface ActionListing {
  filters: ActionFilters;
  orderBy: Order;
  descending: boolean;
}

/** An action as it is listed, and the cursor that stands on it. */
export type ListedAction = Omit<RecoveryAction, "caseId" | "decidedAt"> & { cursorAt: string };

const SELECTED = `id, invoice_id as "invoiceId", subscription_id as "subscriptionId", customer_id as "customerId",
  transaction_id as "transactionId", payment_method_type as "paymentMethodType", card_country as "cardCountry", currency, type, status,
  integration_type as "integrationType", action_suggestion as "actionSuggestion", ideal_retry_time as "idealRetryTime", reasons,
  executed_at as "executedAt", attempted_at as "attemptedAt", created_at as "createdAt", updated_at as "updatedAt"`;

/**
 * The first page and the number of rows on all pages, as of one moment.
 *
 * @param limit  rows to return at most; ask for one more than the page to learn whether there is another
 */
export async function firstActions(tx: Tx, merchantId: string, listing: ActionListing, limit: number) {
  const { name, where, values } = conditions(merchantId, listing);
  values.push(limit);
  const text = `select counted.total, page.* from (select count(*)::int8 as total from recovery_actions where ${where}) counted
    left join (${page(listing, where, values.length)}) page on true ${sorted(listing, '"cursorAt"')}`;
  const { rows } = await tx.run<ListedAction & { total: number; id: string | null }>(
    statement("first", name, text),
    values,
  );
  return { total: rows[0]!.total, actions: rows.filter((row) => row.id !== null) as ListedAction[] };
}

/** The rows that come after `cursor` in the order of the listing. */
export async function actionsAfter(tx: Tx, merchantId: string, listing: ActionListing, cursor: Cursor, limit: number) {
  const { name, where, values } = conditions(merchantId, listing);
  values.push(cursor.at, cursor.id, limit);
  const [at, id, last] = [values.length - 2, values.length - 1, values.length];
  const beyond = `(${listing.orderBy}, id) ${listing.descending ? "<" : ">"} ($${at}::timestamptz, $${id}::uuid)`;
  const text = page(listing, `${where} and ${beyond}`, last);
  return (await tx.run<ListedAction>(statement("next", name, text), values)).rows;
}

const page = (listing: ActionListing, where: string, limitAt: number) =>
  `select ${SELECTED}, to_char(${listing.orderBy} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "cursorAt"
   from recovery_actions where ${where} ${sorted(listing, listing.orderBy)} limit $${limitAt}`;

const sorted = ({ descending }: ActionListing, column: string) =>
  descending ? `order by ${column} desc, id desc` : `order by ${column}, id`;

function conditions(merchantId: string, { filters, orderBy, descending }: ActionListing) {
  const values: unknown[] = [merchantId];
  const where = ["merchant_id = $1"];
  const names: string[] = [];
  for (const [field, column] of Object.entries(FILTERS)) {
    const value = filters[field as keyof typeof FILTERS];
    if (value === undefined) continue;
    where.push(`${column} = $${values.push(value)}`);
    names.push(column);
  }
  const { executedAfter, executedBefore } = filters;
  if (executedAfter) where.push(`executed_at >= $${values.push(executedAfter.toISOString())}`);
  // Moments are shown in milliseconds, so what is shown as the bound itself belongs to it.
  if (executedBefore) where.push(`executed_at < $${values.push(new Date(executedBefore.getTime() + 1).toISOString())}`);
  // Said outright, so that the partial index on executed_at is used.
  if (executedAfter || executedBefore || orderBy === "executed_at") where.push("executed_at is not null");
  const bounds = `${executedAfter ? "_after" : ""}${executedBefore ? "_before" : ""}`;
  const name = names.length > 1 ? "" : `${names.join()}${bounds}_by_${orderBy}${descending ? "_desc" : ""}`;
  return { name, where: where.join(" and "), values };
}

// There are thousands of combinations, and every connection keeps each one it has prepared: only those with at most one
// filter get a name, the others are parsed each time.
const statement = (kind: string, name: string, text: string): Statement =>
  prepared(name === "" ? "" : `${kind}_actions_${name}`, text);
