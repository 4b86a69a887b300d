import { findBrokenRule } from "../../src/api/openapi/broken-rule.fixture.ts";
import { INGEST_OPERATIONS } from "../../src/api/openapi/ingest-operations.ts";
import { RULES_BEYOND_SCHEMA } from "../../src/api/openapi/rules-beyond-schema.ts";
import { createValidatorAt } from "../../src/api/openapi/validator.fixture.ts";
import type { FuzzBody } from "./body-mutations.ts";

/**
 * The expected answer to a body, judged only by the document and its listed rules, without any of the service's code. `rule`: the
 * listed rule that it breaks. Two statuses are possible where digits pass the Luhn check but may be in no card range.
 */
export interface ExpectedAnswer {
  statuses: readonly number[];
  rule?: string;
}

const BODY_BYTES_MAX = 2 * 1024 * 1024;
const STRUCTURAL_CHARS_MAX = 30_000;
const DEPTH_MAX = 32;
const expectRefusal = (rule?: string, status = 400): ExpectedAnswer => ({ statuses: [status], ...(rule && { rule }) });

const schemaValidators = new Map(
  INGEST_OPERATIONS.map(({ kind, record }) => [kind.name, createValidatorAt(`/components/schemas/${record}Batch`)]),
);
const fieldsByKind = new Map(INGEST_OPERATIONS.map(({ kind }) => [kind.name, kind.fields]));

export function expectAnswer(name: string, { bytes, headers = {} }: FuzzBody): ExpectedAnswer {
  const { "content-type": type, "content-encoding": encoding } = headers;
  if (encoding !== undefined && encoding !== "identity") return expectRefusal(undefined, 415);
  if (type !== undefined && !/^application\/json *;? *$/.test(type)) return expectRefusal(undefined, 415);
  if (bytes.length > BODY_BYTES_MAX) return expectRefusal("body-size", 413);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return expectRefusal("utf-8");
  }
  if (text.startsWith("\ufeff")) return expectRefusal("utf-8");
  let value: unknown;
  const unlike: { holder: unknown; name: string }[] = []; // numbers that are written in another way
  try {
    value = JSON.parse(text, function (this: unknown, name, each, context?: { source?: string }) {
      if (typeof each === "number" && String(each) !== context?.source) unlike.push({ holder: this, name });
      return each;
    });
  } catch {
    return expectRefusal();
  }
  if (depthOf(value) > DEPTH_MAX) return expectRefusal("depth");
  const strings = text.replaceAll(STRING, '""');
  if (strings.replaceAll(/[^,[{]/g, "").length > STRUCTURAL_CHARS_MAX) return expectRefusal("not-a-heap");
  // A parser keeps only one of two fields with the same name, so the value has fewer fields than the text has colons.
  if (strings.replaceAll(/[^:]/g, "").length !== countKeys(value)) return expectRefusal("no-double-key");
  if (!schemaValidators.get(name)!(value)) return expectRefusal();
  const records = (value as Record<string, Record<string, unknown>[]>)[name]!;
  const fields = fieldsByKind.get(name)!;
  const isInteger = (field: string) => fields.get(field)?.form === "integer";
  if (unlike.some((each) => isInteger(each.name) && records.includes(each.holder as never)))
    return expectRefusal("digits-only");
  const rule = findBrokenRule(records, value, fields);
  if (rule === "no-card-number") return { statuses: [200, 400], rule };
  return rule === undefined ? { statuses: [200] } : expectRefusal(rule);
}

const STRING = /"(?:[^"\\]|\\.)*"/gs;
const listedRules = new Set(RULES_BEYOND_SCHEMA.map(({ id }) => id));
/** Whether a rule is listed. Every rule of an expected answer must be, so the list completes the document. */
export const isListedRule = (rule: string) => listedRules.has(rule);

const isContainer = (value: unknown) => typeof value === "object" && value !== null;

function depthOf(value: unknown): number {
  let depth = 0;
  for (let open = [value].filter(isContainer); open.length > 0; depth++)
    open = open.flatMap((each) => Object.values(each as object)).filter(isContainer);
  return depth;
}

function countKeys(value: unknown): number {
  let keys = 0;
  for (let open = [value].filter(isContainer); open.length > 0; ) {
    for (const each of open) if (!Array.isArray(each)) keys += Object.keys(each as object).length;
    open = open.flatMap((each) => Object.values(each as object)).filter(isContainer);
  }
  return keys;
}
