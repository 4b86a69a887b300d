import type { ActionFilters } from "../../src/tables/actions-list/action-listing.ts";

export type CellQuery = Record<string, string>;

const LAST_DAYS = "a status of the last days";

/** By how much they match. */
const filters = (actions: number): Record<string, Partial<Record<keyof ActionFilters, string>>> => {
  const customer = Math.floor(actions / 40);
  return {
    "no filter": {},
    "a common country": { cardCountry: "US" },
    "a less common country": { cardCountry: "AT" },
    "a rare country": { cardCountry: "IS" },
    "an unused country": { cardCountry: "ZZ" },
    "a common currency": { currency: "EUR" },
    "a rare currency": { currency: "RON" },
    "country and currency that never meet": { cardCountry: "US", currency: "EUR" },
    "a common type": { type: "RECOVERY_ACTION_TYPE_RETRY" },
    "a rare type": { type: "RECOVERY_ACTION_TYPE_CARD_CHANGE" },
    "a common status": { status: "RECOVERY_ACTION_STATUS_SUCCEEDED" },
    [LAST_DAYS]: { status: "RECOVERY_ACTION_STATUS_SCHEDULED" },
    "a rare status": { status: "RECOVERY_ACTION_STATUS_DELIVERY_FAILED" },
    "country, type and status": {
      cardCountry: "FR",
      type: "RECOVERY_ACTION_TYPE_RETRY",
      status: "RECOVERY_ACTION_STATUS_FAILED",
    },
    "a customer": { customerId: `cus_${customer}` },
    "a customer and a status": { customerId: `cus_${customer}`, status: "RECOVERY_ACTION_STATUS_SUCCEEDED" },
    "a subscription": { subscriptionId: `sub_${customer}` },
    "an invoice": { invoiceId: `in_${Math.floor(actions / 8)}` },
    "a transaction": { transactionId: `tx_${Math.floor(actions / 3)}` },
    "an unknown customer": { customerId: "nobody" },
  };
};

const DAY_MS = 86_400_000;

/** None has whole days. */
function ranges(until: Date): Record<string, CellQuery> {
  const at = (daysBefore: number) => new Date(until.getTime() - daysBefore * DAY_MS).toISOString();
  return {
    "an hour": { executedAfter: at(100.3), executedBefore: at(100.26) },
    "a day": { executedAfter: at(200.4), executedBefore: at(199.4) },
    "30 days": { executedAfter: at(120.7), executedBefore: at(90.6) },
    "the last half year": { executedAfter: at(180.1) },
    "until 100 days ago": { executedBefore: at(100.5) },
    "an empty range": { executedAfter: at(10), executedBefore: at(11) },
  };
}

/** One of each kind. */
const RANGED_FILTERS = [
  "no filter",
  "a common country",
  "a less common country",
  "an unused country",
  "a common currency",
  "a rare type",
  "a common status",
  "a customer",
];

export interface QueryCell {
  name: string;
  /** Same value, same actions in another order. */
  counted: string;
  orderBy: string;
  orderDirection: string;
  query: CellQuery;
  /** In the middle of the walk. */
  middle: Date;
}

export function buildQueryCells(actions: number, until: Date): QueryCell[] {
  const yearAgo = new Date(until.getTime() - 365 * DAY_MS);
  const twoDaysAgo = new Date(until.getTime() - 2 * DAY_MS);
  return Object.entries(filters(actions)).flatMap(([filter, equal]) =>
    Object.entries({ "": {}, ...(RANGED_FILTERS.includes(filter) ? ranges(until) : {}) }).flatMap(
      ([range, bounds]: [string, CellQuery]) => {
        const { executedAfter = filter === LAST_DAYS ? twoDaysAgo : yearAgo, executedBefore = until } = bounds;
        const middle = new Date((new Date(executedAfter).getTime() + new Date(executedBefore).getTime()) / 2);
        const name = range === "" ? filter : `${filter}, ${range}`;
        return ["created_at", "executed_at", "updated_at"].flatMap((orderBy) =>
          ["asc", "desc"].map((orderDirection) => ({
            name,
            counted: `${name}${orderBy === "executed_at" ? " executed" : ""}`,
            orderBy,
            orderDirection,
            query: { ...equal, ...bounds, orderBy, orderDirection },
            middle,
          })),
        );
      },
    ),
  );
}
