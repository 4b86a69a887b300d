import { ACTION_STATUSES, ACTION_TYPES, type ActionStatus, type ActionType } from "../../domain/recovery-action.ts";
import { type ActionFilters, type ActionListing, ORDERS, type Order } from "../../store/action-list.ts";
import { ApiError, badField } from "../errors.ts";
import { isIdentifier } from "../ingest/fields.ts";
import { MOMENT_SAYS, parseMoment } from "../json/moment.ts";

export const PAGE_SIZE_MAX = 100;
export const TYPE_PREFIX = "RECOVERY_ACTION_TYPE_";
export const STATUS_PREFIX = "RECOVERY_ACTION_STATUS_";

/** A filter: whether the text fits, what is said when not, and how it is written so that equal filters look equal. */
interface Filter {
  fits(value: string): boolean;
  says: string;
  normal?(value: string): string;
}

const identifier: Filter = { fits: isIdentifier, says: "must be an identifier of 1 to 255 characters" };
const moment: Filter = {
  fits: (value) => parseMoment(value) !== undefined,
  says: `${MOMENT_SAYS}; in a URL a plus sign is written %2B`,
  normal: (value) => parseMoment(value)!.toISOString(),
};
const oneOf = (values: readonly string[]): Filter => ({
  fits: (value) => values.includes(value),
  says: `must be one of ${values.join(", ")}`,
});

const FILTERS: Record<keyof ActionFilters, Filter> = {
  subscriptionId: identifier,
  invoiceId: identifier,
  customerId: identifier,
  transactionId: identifier,
  cardCountry: { fits: (value) => /^[A-Z]{2}$/.test(value), says: "must be two capital letters (ISO 3166 alpha-2)" },
  currency: { fits: (value) => /^[A-Z]{3}$/.test(value), says: "must be three capital letters (ISO 4217)" },
  type: oneOf(ACTION_TYPES.map((type) => TYPE_PREFIX + type)),
  status: oneOf(ACTION_STATUSES.map((status) => STATUS_PREFIX + status)),
  executedAfter: moment,
  executedBefore: moment,
};

const ORDER_BY = oneOf(ORDERS);
const DIRECTION = oneOf(["asc", "desc"]);
const KNOWN = new Set([...Object.keys(FILTERS), "pageSize", "pageToken", "orderBy", "orderDirection"]);

/** What a request asks for, checked. What it leaves out is undefined: a page token or a default fills it in. */
export interface ListQuery {
  filters: Record<string, string>;
  orderBy: Order | undefined;
  direction: "asc" | "desc" | undefined;
  pageSize: number;
  pageToken: string | undefined;
}

/** Read the query of a listing. Throws a 400 that names the parameter. */
export function readQuery(search: string): ListQuery {
  const given = parameters(search);
  const filters: Record<string, string> = {};
  for (const [name, filter] of Object.entries(FILTERS)) {
    const value = given.get(name);
    if (value === undefined) continue;
    checked(name, value, filter);
    filters[name] = filter.normal?.(value) ?? value;
  }
  return {
    filters,
    orderBy: checked("orderBy", given.get("orderBy"), ORDER_BY) as Order | undefined,
    direction: checked("orderDirection", given.get("orderDirection"), DIRECTION) as "asc" | "desc" | undefined,
    pageSize: pageSize(given.get("pageSize")),
    pageToken: given.get("pageToken") || undefined,
  };
}

function checked(name: string, value: string | undefined, filter: Filter) {
  if (value !== undefined && !filter.fits(value)) throw badField(name, filter.says);
  return value;
}

function pageSize(value: string | undefined): number {
  if (value === undefined) return PAGE_SIZE_MAX;
  if (!/^[+-]?\d+$/.test(value)) throw badField("pageSize", "must be an integer");
  const size = Number(value);
  return size < 1 || size > PAGE_SIZE_MAX ? PAGE_SIZE_MAX : size;
}

/** A misspelt filter that is ignored would list everything: unknown names are refused, and so are repeated ones. */
function parameters(search: string): Map<string, string> {
  const given = new Map<string, string>();
  for (const pair of search.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decoded(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? "" : decoded(pair.slice(equals + 1));
    if (!KNOWN.has(name)) throw unknownParameter(name);
    if (given.has(name)) throw badField(name, "must be given only once");
    given.set(name, value);
  }
  return given;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new ApiError(400, "the query is not valid percent-encoded UTF-8");
  }
}

function unknownParameter(name: string) {
  const known = `known are ${[...KNOWN].join(", ")}`;
  if (!/^[A-Za-z][A-Za-z_]{0,63}$/.test(name)) return new ApiError(400, `the query has an unknown parameter; ${known}`);
  return badField(name, `is not a parameter of this operation; ${known}`);
}

/** The listing in the terms of the store. `filters` were checked. */
export function toListing(filters: Record<string, string>, orderBy: Order, direction: "asc" | "desc"): ActionListing {
  const { executedAfter, executedBefore, type, status, ...equal } = filters;
  return {
    filters: {
      ...equal,
      ...(type === undefined ? {} : { type: type.slice(TYPE_PREFIX.length) as ActionType }),
      ...(status === undefined ? {} : { status: status.slice(STATUS_PREFIX.length) as ActionStatus }),
      ...(executedAfter === undefined ? {} : { executedAfter: new Date(executedAfter) }),
      ...(executedBefore === undefined ? {} : { executedBefore: new Date(executedBefore) }),
    },
    orderBy,
    descending: direction === "desc",
  };
}
