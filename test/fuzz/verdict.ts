import { RULES_BEYOND_SCHEMA } from "../../src/api/openapi/beyond-schema.ts";
import { brokenRule } from "../../src/api/openapi/broken-rule.fixture.ts";
import { INGESTS } from "../../src/api/openapi/ingest-operations.ts";
import { validatorAt } from "../../src/api/openapi/validator.fixture.ts";
import type { Body } from "./mutations.ts";

/**
 * What a body must be answered with, judged by the document and by the rules listed in it, with nothing of the service's own
 * code. `rule`: the listed rule that it breaks. Two statuses: Luhn's sum fits digits that stand in no card range perhaps.
 */
export interface Verdict {
  statuses: readonly number[];
  rule?: string;
}

const BODY_BYTES_MAX = 2 * 1024 * 1024;
const MARKS_MAX = 30_000;
const DEPTH_MAX = 32;
const refused = (rule?: string, status = 400): Verdict => ({ statuses: [status], ...(rule && { rule }) });

const fits = new Map(INGESTS.map(({ kind, record }) => [kind.name, validatorAt(`/components/schemas/${record}Batch`)]));
const fieldsOf = new Map(INGESTS.map(({ kind }) => [kind.name, kind.fields]));

export function judge(name: string, { bytes, headers = {} }: Body): Verdict {
  const { "content-type": type, "content-encoding": encoding } = headers;
  if (encoding !== undefined && encoding !== "identity") return refused(undefined, 415);
  if (type !== undefined && !/^application\/json *;? *$/.test(type)) return refused(undefined, 415);
  if (bytes.length > BODY_BYTES_MAX) return refused("body-size", 413);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refused("utf-8");
  }
  if (text.startsWith("\ufeff")) return refused("utf-8");
  let value: unknown;
  const unlike: { holder: unknown; name: string }[] = []; // numbers that are written in another way
  try {
    value = JSON.parse(text, function (this: unknown, name, each, context?: { source?: string }) {
      if (typeof each === "number" && String(each) !== context?.source) unlike.push({ holder: this, name });
      return each;
    });
  } catch {
    return refused();
  }
  if (depthOf(value) > DEPTH_MAX) return refused("depth");
  const strings = text.replaceAll(STRING, '""');
  if (strings.replaceAll(/[^,[{]/g, "").length > MARKS_MAX) return refused("not-a-heap");
  // A parser keeps one of two fields with the same name: so there are fewer in the value than colons in the text.
  if (strings.replaceAll(/[^:]/g, "").length !== keysIn(value)) return refused("no-double-key");
  if (!fits.get(name)!(value)) return refused();
  const records = (value as Record<string, Record<string, unknown>[]>)[name]!;
  const fields = fieldsOf.get(name)!;
  const isInteger = (field: string) => fields.get(field)?.form === "integer";
  if (unlike.some((each) => isInteger(each.name) && records.includes(each.holder as never)))
    return refused("digits-only");
  const rule = brokenRule(records, value, fields);
  if (rule === "no-card-number") return { statuses: [200, 400], rule };
  return rule === undefined ? { statuses: [200] } : refused(rule);
}

const STRING = /"(?:[^"\\]|\\.)*"/gs;
const listed = new Set(RULES_BEYOND_SCHEMA.map(({ id }) => id));
/** Every rule that a verdict names is in the list, so the list is all that the document leaves out. */
export const isListed = (rule: string) => listed.has(rule);

const isContainer = (value: unknown) => typeof value === "object" && value !== null;

function depthOf(value: unknown): number {
  let depth = 0;
  for (let open = [value].filter(isContainer); open.length > 0; depth++)
    open = open.flatMap((each) => Object.values(each as object)).filter(isContainer);
  return depth;
}

function keysIn(value: unknown): number {
  let keys = 0;
  for (let open = [value].filter(isContainer); open.length > 0; ) {
    for (const each of open) if (!Array.isArray(each)) keys += Object.keys(each as object).length;
    open = open.flatMap((each) => Object.values(each as object)).filter(isContainer);
  }
  return keys;
}
