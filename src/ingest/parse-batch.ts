import Type, { type TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { ApiError, badFieldError } from "../http/errors.ts";
import {
  findJsonProblems,
  hasCardInUnknownField,
  hasCardOutsideRecords,
  REQUIRED_RULE,
  refuseBatch,
} from "./batch-problems.ts";
import { type JsonBody, readJson } from "./read-json.ts";
import { isEmptyValue, type RecordField } from "./record-fields.ts";

export const BATCH_RECORDS_MAX = 200;

export interface RecordKind<Row> {
  name: string;
  fields: ReadonlyMap<string, RecordField>;
  /** In the API document's order. */
  fieldList: readonly (readonly [string, RecordField])[];
  fits(records: unknown): boolean;
  schema: TSchema;
  /** Never set. Ties a kind to its records' type. */
  row?: Row;
}

/** @param name  the body's field that holds the records */
export function createRecordKind<Row extends { id: string }>(
  name: string,
  fields: Record<keyof Row & string, RecordField>,
): RecordKind<Row> {
  const all = Object.entries<RecordField>(fields);
  const schema = Type.Object(
    Object.fromEntries(all.map(([key, field]) => [key, field.required ? field.schema : optionalOrEmpty(field.schema)])),
  );
  const compiled = Compile(Type.Array(schema));
  return {
    name,
    fields: new Map(all),
    fieldList: all,
    fits: (records) => compiled.Check(records),
    schema,
  };
}

// Many clients send missing values as null or an empty string.
const optionalOrEmpty = (schema: TSchema) => Type.Optional(Type.Union([schema, Type.Null(), Type.Literal("")]));

type ParsedKind = Pick<RecordKind<unknown>, "name" | "fields" | "fieldList" | "fits">;

/** Or throws a 400 that lists the problems. */
export function parseBatch<Row>(kind: RecordKind<Row>, bytes: Buffer): Row[] {
  const body = readJson(bytes);
  const records = recordsOf(kind, body.value);
  const jsonProblems = findJsonProblems(kind, body);
  const rows = jsonProblems.size === 0 && kind.fits(records) ? rowsOf(kind, body, records) : undefined;
  if (!rows) throw refuseBatch(kind, jsonProblems, body.value as Record<string, unknown>, records);
  return rows as Row[];
}

// Checked before any record, so that a megabyte of `{}` costs nothing.
function recordsOf(kind: ParsedKind, value: unknown): unknown[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ApiError(400, `the body must be an object with the array ${kind.name}`);
  if (!Object.hasOwn(value, kind.name)) throw badFieldError(kind.name, REQUIRED_RULE);
  const records = (value as Record<string, unknown>)[kind.name];
  if (!Array.isArray(records)) throw badFieldError(kind.name, "must be an array");
  if (records.length === 0) throw badFieldError(kind.name, "must hold at least one record");
  if (records.length > BATCH_RECORDS_MAX)
    throw badFieldError(kind.name, `must hold at most ${BATCH_RECORDS_MAX} records`);
  return records;
}

/** undefined if a rule beyond the schema is broken. */
function rowsOf(kind: ParsedKind, { value, isPlainAscii }: JsonBody, records: readonly unknown[]) {
  if (hasCardOutsideRecords(kind, value as Record<string, unknown>)) return undefined;
  const rows: Record<string, unknown>[] = [];
  for (const record of records) {
    const row = readRecord(kind, record as Record<string, unknown>, isPlainAscii);
    if (!row) return undefined;
    rows.push(row);
  }
  return rows;
}

function readRecord(kind: ParsedKind, record: Record<string, unknown>, isPlainAscii: boolean) {
  const row: Record<string, unknown> = {};
  let knownCount = 0;
  for (const [key, field] of kind.fieldList) {
    const value = record[key];
    if (value === undefined) continue;
    knownCount++;
    if (isEmptyValue(value) && !field.required) continue;
    const fieldValue = field.read(value, isPlainAscii);
    if (fieldValue === undefined || field.holdsCard?.(value as string)) return undefined;
    if (fieldValue !== null) row[key] = fieldValue;
  }
  return Object.keys(record).length > knownCount && hasCardInUnknownField(kind, record) ? undefined : row;
}
