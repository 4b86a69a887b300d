import type { FastifyRequest } from "fastify";
import { CONTROL_CHARACTER } from "../domain/display-text.ts";
import { DAY_MS } from "../domain/durations.ts";
import { parseTimestamp } from "../domain/timestamp.ts";
import type { Api } from "../http/api.ts";
import { ApiError } from "../http/errors.ts";
import { CASE_FILTER_NAMES, type CaseFilterName, type CaseFilters } from "../tables/recovery-sums.ts";
import { BREAKDOWN_DIMENSIONS, type BreakdownDimension } from "./dimension-labels.ts";
import { type RecoveryBreakdown, readRecoveryBreakdown } from "./read-breakdown.ts";

export const ANALYTICS_PATH = "/v1/analytics/recovery";
/** Parameters besides the dimension, the span and the time zone. */
export const ANALYTICS_FILTERS = CASE_FILTER_NAMES;
export type AnalyticsFilterName = CaseFilterName;
export const ANALYTICS_DAYS_MAX = 1_100;

/** Returns recovery by one dimension, in exact sums per currency. */
export function analyticsRoute(api: Api) {
  const onRequest = api.requires("read:analytics");
  const config = { family: "list", path: ANALYTICS_PATH };
  api.http.get(ANALYTICS_PATH, { onRequest, config }, async (request: FastifyRequest) => {
    const { id } = request.caller!.merchant;
    const query = parseAnalyticsQuery(new URL(request.url, "http://x").searchParams, api.ports.now());
    return toAnalyticsJson(await readRecoveryBreakdown(api.tenantDb.of(id), id, query, api.ports.now()));
  });
}

export interface AnalyticsQuery {
  by: BreakdownDimension;
  from: Date;
  to: Date;
  filters: CaseFilters;
  timeZone: string;
}

const DEFAULT_DAYS = 84;

/**
 * @param nameOf  how messages write a parameter's name
 * @throws ApiError that names the parameter
 */
export function parseAnalyticsQuery(
  params: URLSearchParams,
  now: Date,
  nameOf = (name: string) => name,
): AnalyticsQuery {
  const wrong = (field: string, message: string) =>
    new ApiError(400, `${nameOf(field)} ${message}`, { problems: [{ field, rule: message }] });
  const filters: CaseFilters = {};
  const values = new Map<string, string>();
  for (const [name, value] of params) {
    if (params.getAll(name).length > 1) throw wrong(name, "occurs more than once");
    if ((CASE_FILTER_NAMES as readonly string[]).includes(name)) filters[name as CaseFilterName] = value;
    else if (["by", "from", "to", "timeZone"].includes(name)) values.set(name, value);
    else throw wrong(name, "is not a parameter of this operation");
    if (value.length > 255) throw wrong(name, "must have at most 255 characters");
    if (CONTROL_CHARACTER.test(value)) throw wrong(name, "must not hold control characters");
  }
  if (filters.currency !== undefined && !/^[A-Z]{3}$/.test(filters.currency))
    throw wrong("currency", "must be three capital letters, such as EUR");
  const by = BREAKDOWN_DIMENSIONS.find((each) => each === (values.get("by") ?? "reason"));
  if (by === undefined) throw wrong("by", `must be one of ${BREAKDOWN_DIMENSIONS.join(", ")}`);
  const time = (name: "from" | "to", usual: Date): Date => {
    const text = values.get(name);
    const parsed = text === undefined ? usual : parseTimestamp(text);
    if (!parsed) throw wrong(name, "must be a time such as 2027-01-31T12:00:00Z");
    return parsed;
  };
  const to = time("to", now);
  const from = time("from", new Date(to.getTime() - DEFAULT_DAYS * DAY_MS));
  if (from >= to) throw wrong("from", `must be before ${nameOf("to")}`);
  if (to.getTime() - from.getTime() > ANALYTICS_DAYS_MAX * DAY_MS)
    throw wrong("from", `must be at most ${ANALYTICS_DAYS_MAX} days before ${nameOf("to")}`);
  const timeZone = values.get("timeZone") ?? "UTC";
  if (!isTimeZone(timeZone)) throw wrong("timeZone", "must be an IANA time zone such as Europe/Berlin");
  return { by, from, to, filters, timeZone };
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Null fields are omitted, as in all replies. */
export const toAnalyticsJson = ({ from, to, rows, ...rest }: RecoveryBreakdown) => ({
  ...rest,
  from: from.toISOString(),
  to: to.toISOString(),
  rows: rows.map(({ interval, ...row }) => ({
    ...row,
    rate: interval === null ? undefined : row.recovered / row.count,
    rateLow: interval?.low,
    rateHigh: interval?.high,
  })),
});
