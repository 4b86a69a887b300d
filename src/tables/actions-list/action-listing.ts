import type { ActionStatus, ActionType } from "../../domain/recovery-action.ts";
import { facetsPattern } from "./action-facets.ts";

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
  orderBy: ListingOrder;
  descending: boolean;
}

/** Columns of which few actions share a value. */
const SELECTIVE_COLUMNS = {
  subscriptionId: "subscription_id",
  invoiceId: "invoice_id",
  customerId: "customer_id",
  transactionId: "transaction_id",
} as const;

/** A listing in SQL: conditions on a row of `recovery_actions`, and the values that they name. */
export interface ListingSql {
  /** What the text depends on: two listings of one name have one text. */
  name: string;
  /** The parameters; `$1` is the merchant. */
  values: unknown[];
  /** Adds a parameter. */
  value(value: unknown): string;
  orderBy: ListingOrder;
  descending: boolean;
  /** `order by COLUMN, id`, by the direction of the listing. */
  sorted(column: string): string;
  /** Equality with the owners that are asked for; empty: none is. */
  owners: readonly string[];
  /** The parameter with the pattern of the facets; null: any will do. */
  facets: string | null;
  /** The bounds of the execution time, the last exclusive, as moments, as SQL and as conditions; null: there are none. */
  executed: TimeBounds | null;
  /** Whether only what was executed is listed. */
  onlyExecuted: boolean;
}

interface TimeBounds {
  from: Date | null;
  to: Date | null;
  first: string;
  last: string;
  since: string;
  until: string;
}

/** The parts of a listing's statement, of which each way to find its rows takes what it needs. Values are numbered in the order in which they are added. */
export function buildListingSql(merchantId: string, { filters, orderBy, descending }: ActionListing): ListingSql {
  const values: unknown[] = [merchantId];
  const value = (each: unknown) => `$${values.push(each)}`;
  const asked = Object.entries(SELECTIVE_COLUMNS).filter(
    ([field]) => filters[field as keyof typeof SELECTIVE_COLUMNS] !== undefined,
  );
  const owners = asked.map(
    ([field, column]) => `${column} = ${value(filters[field as keyof typeof SELECTIVE_COLUMNS])}`,
  );
  const pattern = facetsPattern(filters);
  const facets = pattern === null ? null : `${value(pattern)}::text`;
  const executed = executedBoundsSql(filters, value);
  const onlyExecuted = executed !== null || orderBy === "executed_at";
  const direction = descending ? "desc" : "asc";
  const parts = [...asked.map(([, column]) => column), facets && "facets", executed && "dates", orderBy, direction];
  return {
    name: parts.filter((part) => part !== null).join("_"),
    values,
    value,
    orderBy,
    descending,
    sorted: (column) => `order by ${column} ${direction}, id ${direction}`,
    owners,
    facets,
    executed,
    onlyExecuted,
  };
}

function executedBoundsSql(
  { executedAfter, executedBefore }: ActionFilters,
  value: (each: unknown) => string,
): TimeBounds | null {
  if (!executedAfter && !executedBefore) return null;
  const from = executedAfter ?? null;
  // Moments are shown in milliseconds, so what is shown as the bound itself belongs to it.
  const to = executedBefore ? new Date(executedBefore.getTime() + 1) : null;
  const first = `${value(from?.toISOString() ?? "-infinity")}::timestamptz`;
  const last = `${value(to?.toISOString() ?? "infinity")}::timestamptz`;
  return { from, to, first, last, since: `executed_at >= ${first}`, until: `executed_at < ${last}` };
}
