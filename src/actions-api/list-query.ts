import Type, { type TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { ACTION_STATUSES, ACTION_TYPES, type ActionStatus, type ActionType } from "../domain/recovery-action.ts";
import { parseTimestamp, TIMESTAMP_RULE } from "../domain/timestamp.ts";
import { ApiError, badFieldError } from "../http/errors.ts";
import { country, currency, identifier, isIdentifier, type RecordField, timestamp } from "../ingest/record-fields.ts";
import {
  type ActionFilters,
  type ActionListing,
  LISTING_ORDERS,
  type ListingOrder,
} from "../tables/actions-list/action-listing.ts";

export const PAGE_SIZE_MAX = 100;
export const TYPE_PREFIX = "RECOVERY_ACTION_TYPE_";
export const STATUS_PREFIX = "RECOVERY_ACTION_STATUS_";

/** A parameter: its schema, whether a text fits it, what is said when not, and how it is written so that equal filters look equal. */
interface Parameter {
  schema: TSchema;
  fits(value: string): boolean;
  says: string;
  normal?(value: string): string;
}

const withFullSchema = ({ schema, alsoSays }: Pick<RecordField, "schema" | "alsoSays">): TSchema => ({
  ...schema,
  ...alsoSays,
});
const idParameter: Parameter = {
  schema: withFullSchema(identifier),
  fits: isIdentifier,
  says: "must be an identifier of 1 to 255 characters",
};
const timeParameter: Parameter = {
  schema: withFullSchema(timestamp),
  fits: (value) => parseTimestamp(value) !== undefined,
  says: `${TIMESTAMP_RULE}; in a URL a plus sign is written %2B`,
  normal: (value) => parseTimestamp(value)!.toISOString(),
};
function patternParameter(field: Pick<RecordField, "schema" | "alsoSays">, says: string): Parameter {
  const compiled = Compile(field.schema);
  return { schema: withFullSchema(field), fits: (value) => compiled.Check(value), says };
}
const enumParameter = (values: readonly string[], options = {}) =>
  patternParameter({ schema: Type.Enum([...values], options) }, `must be one of ${values.join(", ")}`);

const FILTER_PARAMETERS: Record<keyof ActionFilters, Parameter> = {
  subscriptionId: idParameter,
  invoiceId: idParameter,
  customerId: idParameter,
  transactionId: idParameter,
  cardCountry: patternParameter(country, country.says),
  currency: patternParameter(currency, `${currency.says} (ISO 4217)`),
  type: enumParameter(ACTION_TYPES.map((type) => TYPE_PREFIX + type)),
  status: enumParameter(ACTION_STATUSES.map((status) => STATUS_PREFIX + status)),
  executedAfter: timeParameter,
  executedBefore: timeParameter,
};

const ORDER_BY_PARAMETER = enumParameter(LISTING_ORDERS, { default: "created_at" });
const DIRECTION_PARAMETER = enumParameter(["asc", "desc"], { default: "desc" });
/** JSON Schema of each parameter of the listing, as clients should send them: `parsePageSize` takes any integer. */
export const PARAMETERS: Readonly<Record<string, TSchema>> = {
  ...Object.fromEntries(Object.entries(FILTER_PARAMETERS).map(([name, { schema }]) => [name, schema])),
  orderBy: ORDER_BY_PARAMETER.schema,
  orderDirection: DIRECTION_PARAMETER.schema,
  pageSize: Type.Integer({ minimum: 1, maximum: PAGE_SIZE_MAX, default: PAGE_SIZE_MAX }),
  // With each filter at its longest a token has 6 KB.
  pageToken: Type.String({ maxLength: 8192, pattern: "^[A-Za-z0-9_.-]*$" }),
};
const PARAMETER_NAMES = new Set(Object.keys(PARAMETERS));

/** What a request asks for, checked. What it leaves out is undefined: a page token or a default fills it in. */
export interface ListQuery {
  filters: Record<string, string>;
  orderBy: ListingOrder | undefined;
  direction: "asc" | "desc" | undefined;
  pageSize: number;
  pageToken: string | undefined;
}

/** Read the query of a listing. Throws a 400 that names the parameter. */
export function parseListQuery(search: string): ListQuery {
  const given = parseParameters(search);
  const filters: Record<string, string> = {};
  for (const [name, filter] of Object.entries(FILTER_PARAMETERS)) {
    const value = given.get(name);
    if (value === undefined) continue;
    checkParameter(name, value, filter);
    filters[name] = filter.normal?.(value) ?? value;
  }
  return {
    filters,
    orderBy: checkParameter("orderBy", given.get("orderBy"), ORDER_BY_PARAMETER) as ListingOrder | undefined,
    direction: checkParameter("orderDirection", given.get("orderDirection"), DIRECTION_PARAMETER) as
      | "asc"
      | "desc"
      | undefined,
    pageSize: parsePageSize(given.get("pageSize")),
    pageToken: given.get("pageToken"),
  };
}

function checkParameter(name: string, value: string | undefined, filter: Parameter) {
  if (value !== undefined && !filter.fits(value)) throw badFieldError(name, filter.says);
  return value;
}

function parsePageSize(value: string | undefined): number {
  if (value === undefined) return PAGE_SIZE_MAX;
  if (!/^[+-]?\d+$/.test(value)) throw badFieldError("pageSize", "must be an integer");
  const size = Number(value);
  return size < 1 || size > PAGE_SIZE_MAX ? PAGE_SIZE_MAX : size;
}

/** A misspelt filter that is ignored would list everything: unknown names are refused, and so are repeated ones. */
function parseParameters(search: string): Map<string, string> {
  const given = new Map<string, string>();
  for (const pair of search.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodeParameter(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? "" : decodeParameter(pair.slice(equals + 1));
    if (!PARAMETER_NAMES.has(name)) throw unknownParameterError(name);
    if (given.has(name)) throw badFieldError(name, "must be given only once");
    given.set(name, value);
  }
  // Clients send what is not set as an empty text.
  for (const [name, value] of given) if (value === "") given.delete(name);
  return given;
}

function decodeParameter(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new ApiError(400, "the query is not valid percent-encoded UTF-8");
  }
}

function unknownParameterError(name: string) {
  const known = `known are ${[...PARAMETER_NAMES].join(", ")}`;
  if (!/^[A-Za-z][A-Za-z_]{0,63}$/.test(name)) return new ApiError(400, `the query has an unknown parameter; ${known}`);
  return badFieldError(name, `is not a parameter of this operation; ${known}`);
}

/** The listing in the terms of the store. `filters` were checked. */
export function toListing(
  filters: Record<string, string>,
  orderBy: ListingOrder,
  direction: "asc" | "desc",
): ActionListing {
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
