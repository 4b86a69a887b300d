import type Stripe from "stripe";
import type { FormFields, FormValue } from "./form-body.ts";
import { listOf } from "./objects.ts";
import { invalidRequest } from "./stripe-error.ts";

const LIMIT_MAX = 100;
const COMPARISONS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  gt: (a, b) => a > b,
  gte: (a, b) => a >= b,
  lt: (a, b) => a < b,
  lte: (a, b) => a <= b,
};

/**
 * Answers a list as Stripe does: newest first, by cursor, within `created`.
 *
 * @param all  oldest first, so in the order of their ids
 */
export function answerList<T extends { id: string; created?: number }>(
  all: readonly T[],
  fields: FormFields,
  url: string,
  filter: (object: T) => boolean = () => true,
): Stripe.ApiList<T> {
  const limit = fields.limit === undefined ? 10 : Number(fields.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
    throw invalidRequest("This value must be between 1 and 100.", { param: "limit" });
  const [after, before] = [textOf(fields.starting_after), textOf(fields.ending_before)];
  const rows: T[] = [];
  const take = (object: T) => filter(object) && isWithin(object.created, fields.created) && rows.push(object) > limit;
  if (after === undefined && before !== undefined) {
    for (let at = indexOf(all, before, "ending_before") + 1; at < all.length; at++) if (take(all[at]!)) break;
    return { ...listOf(rows.slice(0, limit).reverse(), url), has_more: rows.length > limit };
  }
  const end = after === undefined ? all.length : indexOf(all, after, "starting_after");
  for (let at = end - 1; at >= 0; at--) if (take(all[at]!)) break;
  return { ...listOf(rows.slice(0, limit), url), has_more: rows.length > limit };
}

/** The numbers in ids rise; the letters before them may differ. */
function indexOf(rows: readonly { id: string }[], id: string, param: string): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numberIn(rows[middle]!.id) < numberIn(id)) low = middle + 1;
    else high = middle;
  }
  if (rows[low]?.id !== id) throw invalidRequest(`No such object: '${id}'`, { code: "resource_missing", param });
  return low;
}

const numberIn = (id: string) => id.slice(id.indexOf("_"));

function isWithin(created: number | undefined, range: FormValue | undefined): boolean {
  if (range === undefined || created === undefined) return true;
  if (typeof range === "string") return created === Number(range);
  return Object.entries(range).every(([name, bound]) => COMPARISONS[name]?.(created, Number(bound)) ?? true);
}

export const textOf = (value: FormValue | undefined): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

export const flagOf = (value: FormValue | undefined): boolean | undefined =>
  value === undefined ? undefined : value === "true";

export function numberOf(value: FormValue | undefined, param: string): number | undefined {
  const text = textOf(value);
  if (text === undefined) return undefined;
  if (/^-?\d+$/.test(text)) return Number(text);
  throw invalidRequest(`Invalid integer: ${text}`, { param, code: "parameter_invalid_integer" });
}

/** Adds names, and removes those with an empty value, as Stripe does. */
export function mergeMetadata(metadata: Stripe.Metadata, given: FormValue | undefined): Stripe.Metadata {
  if (given === undefined) return metadata;
  if (given === "") return {};
  const merged = { ...metadata };
  for (const [name, value] of Object.entries(given as Record<string, string>))
    if (value === "") delete merged[name];
    else merged[name] = value;
  return merged;
}
