import type { ActionFilters } from "../../src/store/action-listing.ts";

/** What a cell asks for, as the query of a request. */
export type Query = Record<string, string>;

/** Filters by what they match: much, some, little, and nothing. */
const filters = (actions: number): Record<string, Partial<Record<keyof ActionFilters, string>>> => {
  const customer = Math.floor(actions / 40);
  return {
    "no filter": {},
    "a common country": { cardCountry: "US" },
    "a country of some": { cardCountry: "AT" },
    "a rare country": { cardCountry: "IS" },
    "a country of nobody": { cardCountry: "ZZ" },
    "a common currency": { currency: "EUR" },
    "a rare currency": { currency: "RON" },
    "country and currency that never meet": { cardCountry: "US", currency: "EUR" },
    "a common type": { type: "RECOVERY_ACTION_TYPE_RETRY" },
    "a rare type": { type: "RECOVERY_ACTION_TYPE_CARD_CHANGE" },
    "a common status": { status: "RECOVERY_ACTION_STATUS_SUCCEEDED" },
    "a status of the last days": { status: "RECOVERY_ACTION_STATUS_SCHEDULED" },
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
    "a customer of nobody": { customerId: "nobody" },
  };
};

const DAY_MS = 86_400_000;

/** Ranges of the time of execution, none of whole days. */
function dates(until: Date): Record<string, Query> {
  const at = (daysBefore: number) => new Date(until.getTime() - daysBefore * DAY_MS).toISOString();
  return {
    "": {},
    "an hour": { executedAfter: at(100.3), executedBefore: at(100.26) },
    "a day": { executedAfter: at(200.4), executedBefore: at(199.4) },
    "30 days": { executedAfter: at(120.7), executedBefore: at(90.6) },
    "since half a year": { executedAfter: at(180.1) },
    "until 100 days ago": { executedBefore: at(100.5) },
    "no time at all": { executedAfter: at(10), executedBefore: at(11) },
  };
}

export interface Cell {
  filter: string;
  dates: string;
  orderBy: string;
  orderDirection: string;
  query: Query;
}

/** Every filter, range, order and direction. */
export const cells = (actions: number, until: Date): Cell[] =>
  Object.entries(filters(actions)).flatMap(([filter, equal]) =>
    Object.entries(dates(until)).flatMap(([range, bounds]) =>
      ["created_at", "executed_at", "updated_at"].flatMap((orderBy) =>
        ["asc", "desc"].map((orderDirection) => ({
          filter,
          dates: range,
          orderBy,
          orderDirection,
          query: { ...equal, ...bounds, orderBy, orderDirection },
        })),
      ),
    ),
  );
