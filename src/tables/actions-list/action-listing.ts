import type { ActionStatus, ActionType } from "../../domain/recovery-action.ts";
import { type Found, ownedByRangeSql } from "../id-prefix.ts";
import { facetsPatterns } from "./action-facets.ts";

export const LISTING_ORDERS = ["executed_at", "created_at", "updated_at"] as const;
export type ListingOrder = (typeof LISTING_ORDERS)[number];

export interface ActionFilters {
  subscriptionId?: string;
  invoiceId?: string;
  customerId?: string;
  transactionId?: string;
  cardCountry?: string;
  currency?: string;
  type?: ActionType;
  /** OPEN: any of `OPEN_ACTION_STATUSES`. */
  status?: ActionStatus | "OPEN";
  /** Both inclusive, in whole milliseconds. */
  executedAfter?: Date;
  executedBefore?: Date;
}

/** The page's last row. `at`: microseconds as PostgreSQL writes them; the id breaks ties. */
export interface Cursor {
  at: string;
  id: string;
}

export interface ActionListing {
  filters: ActionFilters;
  orderBy: ListingOrder;
  descending: boolean;
  /** Cases that a search found. */
  found?: Found;
}

/** Conditions on `recovery_actions` that few actions meet. Actions of an invoice or a transaction are found by their cases. */
const OWNER_CONDITIONS = {
  subscriptionId: (id: string) => `subscription_id = ${id}`,
  invoiceId: (id: string) =>
    `case_id = any(array(select id from cases where merchant_id = $1 and invoice_id = ${id}::text))`,
  customerId: (id: string) => `customer_id = ${id}`,
  transactionId: (id: string) =>
    `transaction_id = ${id} and case_id = any(array(
       select k.id from transactions t join cases k on k.merchant_id = $1 and k.invoice_id = t.invoice_id
       where t.merchant_id = $1 and t.id = ${id}::text))`,
} as const;
const OWNERS = Object.keys(OWNER_CONDITIONS) as (keyof typeof OWNER_CONDITIONS)[];

export interface ListingSql {
  /** Same name, same statement text. Empty: planned for each call. */
  name: string;
  /** `$1` is the merchant. */
  values: unknown[];
  /** Adds a value and returns its parameter. */
  parameter(value: unknown): string;
  orderBy: ListingOrder;
  descending: boolean;
  /** In the listing's direction. */
  orderClause(column: string): string;
  owners: readonly string[];
  /** Where rows are looked for. `recovery_actions` has the indexes over columns that do not change. */
  table: "recovery_actions" | "listed_actions";
  /** Right side of LIKE. */
  facets: string | null;
  executed: TimeBounds | null;
  onlyExecuted: boolean;
}

/** `to` is exclusive. */
export interface TimeBounds {
  from: Date | null;
  to: Date | null;
  first: string;
  last: string;
  since: string;
  until: string;
}

export function buildListingSql(
  merchantId: string,
  { filters, orderBy, descending, found }: ActionListing,
): ListingSql {
  const values: unknown[] = [merchantId];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const requestedOwners = OWNERS.filter((field) => filters[field] !== undefined);
  const owners = requestedOwners.map((field) => OWNER_CONDITIONS[field](parameter(filters[field])));
  const patterns = facetsPatterns(filters);
  const hasSeveral = patterns !== null && patterns.length > 1;
  const facets = patterns && (hasSeveral ? `any(${parameter(patterns)}::text[])` : `${parameter(patterns[0])}::text`);
  const executed = executedBoundsSql(filters, parameter);
  const onlyExecuted = executed !== null || orderBy === "executed_at";
  const hasFewMatches = requestedOwners.length > 0 || (found !== undefined && "ids" in found);
  const table = hasFewMatches || orderBy === "created_at" ? "recovery_actions" : "listed_actions";
  if (found) owners.push(foundSql(found, table, parameter));
  const direction = descending ? "desc" : "asc";
  const parts = [
    ...requestedOwners,
    facets && (hasSeveral ? "any_facets" : "facets"),
    executed && "dates",
    orderBy,
    direction,
  ];
  return {
    name: found ? "" : parts.filter((part) => part !== null).join("_"),
    values,
    parameter,
    orderBy,
    descending,
    orderClause: (column) => `order by ${column} ${direction}, id ${direction}`,
    owners,
    table,
    facets,
    executed,
    onlyExecuted,
  };
}

function foundSql(found: Found, table: ListingSql["table"], parameter: (value: unknown) => string): string {
  if ("ids" in found) return `case_id = any(${parameter(found.ids)}::uuid[])`;
  const [from, to] = [parameter(found.range.from), parameter(found.range.to)];
  if (table === "recovery_actions") return ownedByRangeSql(from, to);
  // The list is walked in its order, with one probe for each row.
  return `(select true from recovery_actions r
     where r.merchant_id = $1 and r.id = listed_actions.id and ${ownedByRangeSql(from, to, "r.")} offset 0)`;
}

function executedBoundsSql(
  { executedAfter, executedBefore }: ActionFilters,
  parameter: (value: unknown) => string,
): TimeBounds | null {
  if (!executedAfter && !executedBefore) return null;
  const from = executedAfter ?? null;
  // A time shown as the bound, cut to milliseconds, is included.
  const to = executedBefore ? new Date(executedBefore.getTime() + 1) : null;
  const first = `${parameter(from?.toISOString() ?? "-infinity")}::timestamptz`;
  const last = `${parameter(to?.toISOString() ?? "infinity")}::timestamptz`;
  return { from, to, first, last, since: `executed_at >= ${first}`, until: `executed_at < ${last}` };
}
