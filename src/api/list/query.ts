import Type, { type TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { MOMENT_SAYS, parseMoment } from "../../domain/moment.ts";
import { ACTION_STATUSES, ACTION_TYPES, type ActionStatus, type ActionType } from "../../domain/recovery-action.ts";
import { type ActionFilters, type ActionListing, ORDERS, type Order } from "../../store/action-listing.ts";
import { ApiError, badField } from "../errors.ts";
import { country, currency, type Field, identifier, isIdentifier, moment } from "../ingest/fields.ts";

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

const withAll = ({ schema, alsoSays }: Pick<Field, "schema" | "alsoSays">): TSchema => ({ ...schema, ...alsoSays });
const id: Parameter = {
  schema: withAll(identifier),
  fits: isIdentifier,
  says: "must be an identifier of 1 to 255 characters",
};
const time: Parameter = {
  schema: withAll(moment),
  fits: (value) => parseMoment(value) !== undefined,
  says: `${MOMENT_SAYS}; in a URL a plus sign is written %2B`,
  normal: (value) => parseMoment(value)!.toISOString(),
};
function matching(field: Pick<Field, "schema" | "alsoSays">, says: string): Parameter {
  const compiled = Compile(field.schema);
  return { schema: withAll(field), fits: (value) => compiled.Check(value), says };
}
const oneOf = (values: readonly string[], options = {}) =>
  matching({ schema: Type.Enum([...values], options) }, `must be one of ${values.join(", ")}`);

const FILTERS: Record<keyof ActionFilters, Parameter> = {
  subscriptionId: id,
  invoiceId: id,
  customerId: id,
  transactionId: id,
  cardCountry: matching(country, country.says),
  currency: matching(currency, `${currency.says} (ISO 4217)`),
  type: oneOf(ACTION_TYPES.map((type) => TYPE_PREFIX + type)),
  status: oneOf(ACTION_STATUSES.map((status) => STATUS_PREFIX + status)),
  executedAfter: time,
  executedBefore: time,
};

const ORDER_BY = oneOf(ORDERS, { default: "created_at" });
const DIRECTION = oneOf(["asc", "desc"], { default: "desc" });
/** JSON Schema of each parameter of the listing, as clients should send them: `pageSize` takes any integer. */
export const PARAMETERS: Readonly<Record<string, TSchema>> = {
  ...Object.fromEntries(Object.entries(FILTERS).map(([name, { schema }]) => [name, schema])),
  orderBy: ORDER_BY.schema,
  orderDirection: DIRECTION.schema,
  pageSize: Type.Integer({ minimum: 1, maximum: PAGE_SIZE_MAX, default: PAGE_SIZE_MAX }),
  // With each filter at its longest a token has 6 KB.
  pageToken: Type.String({ maxLength: 8192, pattern: "^[A-Za-z0-9_.-]*$" }),
};
const KNOWN = new Set(Object.keys(PARAMETERS));

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
    pageToken: given.get("pageToken"),
  };
}

function checked(name: string, value: string | undefined, filter: Parameter) {
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
  // Clients send what is not set as an empty text.
  for (const [name, value] of given) if (value === "") given.delete(name);
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
