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

interface Parameter {
  schema: TSchema;
  fits(value: string): boolean;
  /** As in "must be an integer". */
  rule: string;
  /** Gives equal values equal texts. */
  normalize?(value: string): string;
}

type ParameterField = Pick<RecordField, "schema" | "documentedSchema">;

const withFullSchema = ({ schema, documentedSchema }: ParameterField): TSchema => ({ ...schema, ...documentedSchema });
const idParameter: Parameter = {
  schema: withFullSchema(identifier),
  fits: isIdentifier,
  rule: "must be an identifier of 1 to 255 characters",
};
const timeParameter: Parameter = {
  schema: withFullSchema(timestamp),
  fits: (value) => parseTimestamp(value) !== undefined,
  rule: `${TIMESTAMP_RULE}; in a URL, write the plus sign as %2B`,
  normalize: (value) => parseTimestamp(value)!.toISOString(),
};
function patternParameter(field: ParameterField, rule: string): Parameter {
  const compiled = Compile(field.schema);
  return { schema: withFullSchema(field), fits: (value) => compiled.Check(value), rule };
}
const enumParameter = (values: readonly string[], options = {}) =>
  patternParameter({ schema: Type.Enum([...values], options) }, `must be one of ${values.join(", ")}`);

const FILTER_PARAMETERS: Record<keyof ActionFilters, Parameter> = {
  subscriptionId: idParameter,
  invoiceId: idParameter,
  customerId: idParameter,
  transactionId: idParameter,
  cardCountry: patternParameter(country, country.rule),
  currency: patternParameter(currency, `${currency.rule} (ISO 4217)`),
  type: enumParameter(ACTION_TYPES.map((type) => TYPE_PREFIX + type)),
  status: enumParameter(ACTION_STATUSES.map((status) => STATUS_PREFIX + status)),
  executedAfter: timeParameter,
  executedBefore: timeParameter,
};

const ORDER_BY_PARAMETER = enumParameter(LISTING_ORDERS, { default: "created_at" });
const DIRECTION_PARAMETER = enumParameter(["asc", "desc"], { default: "desc" });
/** For clients. `parsePageSize` accepts any integer. */
export const PARAMETERS: Readonly<Record<string, TSchema>> = {
  ...Object.fromEntries(Object.entries(FILTER_PARAMETERS).map(([name, { schema }]) => [name, schema])),
  orderBy: ORDER_BY_PARAMETER.schema,
  orderDirection: DIRECTION_PARAMETER.schema,
  pageSize: Type.Integer({ minimum: 1, maximum: PAGE_SIZE_MAX, default: PAGE_SIZE_MAX }),
  // Enough for a token with every filter at its maximum length.
  pageToken: Type.String({ maxLength: 8192, pattern: "^[A-Za-z0-9_.-]*$" }),
};
const PARAMETER_NAMES = new Set(Object.keys(PARAMETERS));

/** With defaults, or values from the page token. */
export interface ListQuery {
  filters: Record<string, string>;
  orderBy: ListingOrder | undefined;
  direction: "asc" | "desc" | undefined;
  pageSize: number;
  pageToken: string | undefined;
}

/** Throws a 400 that names the parameter at fault. */
export function parseListQuery(search: string): ListQuery {
  const values = parseParameters(search);
  const filters: Record<string, string> = {};
  for (const [name, parameter] of Object.entries(FILTER_PARAMETERS)) {
    const value = values.get(name);
    if (value === undefined) continue;
    checkParameter(name, value, parameter);
    filters[name] = parameter.normalize?.(value) ?? value;
  }
  return {
    filters,
    orderBy: checkParameter("orderBy", values.get("orderBy"), ORDER_BY_PARAMETER) as ListingOrder | undefined,
    direction: checkParameter("orderDirection", values.get("orderDirection"), DIRECTION_PARAMETER) as
      | "asc"
      | "desc"
      | undefined,
    pageSize: parsePageSize(values.get("pageSize")),
    pageToken: values.get("pageToken"),
  };
}

function checkParameter(name: string, value: string | undefined, parameter: Parameter) {
  if (value !== undefined && !parameter.fits(value)) throw badFieldError(name, parameter.rule);
  return value;
}

function parsePageSize(value: string | undefined): number {
  if (value === undefined) return PAGE_SIZE_MAX;
  if (!/^[+-]?\d+$/.test(value)) throw badFieldError("pageSize", "must be an integer");
  const size = Number(value);
  return size < 1 || size > PAGE_SIZE_MAX ? PAGE_SIZE_MAX : size;
}

/** Refuses unknown and repeated parameters: ignoring a misspelled filter would list everything. */
function parseParameters(search: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const pair of search.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodeParameter(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? "" : decodeParameter(pair.slice(equals + 1));
    if (!PARAMETER_NAMES.has(name)) throw unknownParameterError(name);
    if (values.has(name)) throw badFieldError(name, "must be given only once");
    values.set(name, value);
  }
  // Many clients send an unset parameter as an empty string.
  for (const [name, value] of values) if (value === "") values.delete(name);
  return values;
}

function decodeParameter(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new ApiError(400, "the query is not valid percent-encoded UTF-8");
  }
}

function unknownParameterError(name: string) {
  const supported = `supported parameters: ${[...PARAMETER_NAMES].join(", ")}`;
  if (!/^[A-Za-z][A-Za-z_]{0,63}$/.test(name))
    return new ApiError(400, `the query has an unknown parameter; ${supported}`);
  return badFieldError(name, `is not a parameter of this operation; ${supported}`);
}

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
