import Type, { type TSchema } from "typebox";
import { Compile } from "typebox/compile";
import type { Column } from "../../store/batch.ts";
import type { Packed } from "../../store/packed.ts";
import { createPacker, pack } from "../../store/packer.ts";
import { ApiError, badField } from "../errors.ts";
import { isCardNumber } from "../json/card-number.ts";
import { isPlain, type JsonBody, readJson } from "../json/read-json.ts";
import { tooDeep } from "../json/refuse-heap.ts";
import { type Path, scanJson } from "../json/scan-json.ts";
import { type Field, fitsField } from "./fields.ts";
import { NO_CARD_NUMBER, placeOf, refuseCardNumber, refuseCards } from "./unknown-fields.ts";
import { createWalk } from "./walk-batch.ts";

export const BATCH_MAX = 200;

/** A kind of record that is pushed in batches, and how each of its fields is read. */
export interface RecordKind<Row> {
  name: string;
  fields: ReadonlyMap<string, Field>;
  /** The same, quicker to walk. */
  order: readonly (readonly [string, Field])[];
  /** Whether all records fit their schemas; 25 µs for 200 invoices. */
  fits(records: unknown): boolean;
  /** See `createWalk`. */
  walk(body: Buffer): Packed<Row> | undefined;
  pack(records: readonly Row[]): Packed<Row>;
  /** JSON Schema of one record. */
  schema: TSchema;
}

/**
 * @param name  the field of the body that holds the records
 * @param columns  where they are stored: one for each field
 */
export function recordKind<Row extends { id: string }>(
  name: string,
  columns: readonly Column<Row>[],
  fields: Record<keyof Row & string, Field>,
): RecordKind<Row> {
  const all = Object.entries<Field>(fields);
  const packer = createPacker(columns);
  const schema = Type.Object(
    Object.fromEntries(all.map(([key, field]) => [key, field.required ? field.schema : orNull(field.schema)])),
  );
  const compiled = Compile(Type.Array(schema));
  return {
    name,
    fields: new Map(all),
    order: all,
    fits: (records) => compiled.Check(records),
    walk: createWalk(name, all, packer, BATCH_MAX),
    pack: (records) => pack(packer, records),
    schema,
  };
}

// Many clients write what they do not have as null: it is the same as absent.
const orNull = (schema: TSchema) => Type.Optional(Type.Union([schema, Type.Null()]));

/** What it takes to check records. */
type Kind = Pick<RecordKind<unknown>, "name" | "fields" | "order" | "fits">;

/** The records of a body, or a 400 that names the first record and field at fault. All of them or none. */
export function readBatch<Row>(kind: RecordKind<Row>, bytes: Buffer): Packed<Row> {
  return (isPlain(bytes) && kind.walk(bytes)) || kind.pack(readAny(kind, bytes));
}

/** The records of a body that may be anything. */
export function readAny<Row>(kind: RecordKind<Row>, bytes: Buffer): Row[] {
  const body = readJson(bytes);
  const records = recordsOf(kind, body.value);
  refuseChanges(kind, body);
  if (!kind.fits(records)) throw firstMisfit(kind, records);
  refuseCards(body.value as Record<string, unknown>, "", 1, (key) => key !== kind.name);
  return records.map((record, index) => readRecord(kind, record as Record<string, unknown>, index, body.plain) as Row);
}

// The length comes before anything that looks at each record: a megabyte of `{}` must cost nothing.
function recordsOf(kind: Kind, value: unknown): unknown[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ApiError(400, `the body must be an object with the array ${kind.name}`);
  if (!Object.hasOwn(value, kind.name)) throw badField(kind.name, IS_REQUIRED);
  const records = (value as Record<string, unknown>)[kind.name];
  if (!Array.isArray(records)) throw badField(kind.name, "must be an array");
  if (records.length === 0) throw badField(kind.name, "must hold at least one record");
  if (records.length > BATCH_MAX) throw badField(kind.name, `must hold at most ${BATCH_MAX} records`);
  return records;
}

/** Refuse what JSON.parse changes silently. A text that is what JSON.stringify writes has nothing of it: most have not. */
function refuseChanges(kind: Kind, { value, text }: JsonBody) {
  if (isCanonical(value, text)) return;
  const flaw = scanJson(text, (path, source) => refuseNumber(kind, path, source));
  if (flaw?.kind === "depth") throw tooDeep();
  if (flaw?.kind === "duplicate") throw badField(pathText(flaw.path), "stands twice in the same object");
}

function isCanonical(value: unknown, text: string) {
  try {
    return JSON.stringify(value) === text;
  } catch {
    return false; // nested too deeply for JSON.stringify: the scan says so
  }
}

function refuseNumber(kind: Kind, path: Path, source: string) {
  const field = path.length === 3 && path[0] === kind.name ? kind.fields.get(path[2] as string) : undefined;
  if (field?.form === "integer") throw badField(pathText(path), field.says);
  if (!field && isCardNumber(source)) throw refuseCardNumber(pathText(path));
}

/** `invoices[3].amount` */
const pathText = (path: Path) => placeOf("", path);

/** The first record, and in it the first field, that is not as it must be. */
function firstMisfit(kind: Kind, records: readonly unknown[]): ApiError {
  for (const [index, record] of records.entries()) {
    const place = `${kind.name}[${index}]`;
    if (typeof record !== "object" || record === null || Array.isArray(record))
      return badField(place, "must be an object");
    for (const [key, says] of misfitsOf(kind, record as Record<string, unknown>))
      return badField(`${place}.${key}`, says);
  }
  throw new Error(`${kind.name} do not fit their schema, but each field does`);
}

/** What a field must be that is not there. */
export const IS_REQUIRED = "is required";

/** Each field of a record that is not as it must be, and what it must be. */
export function* misfitsOf({ fields }: Pick<Kind, "fields">, record: Readonly<Record<string, unknown>>) {
  for (const [key, field] of fields) {
    const value = Object.hasOwn(record, key) ? record[key] : undefined;
    if (value === undefined || (value === null && !field.required)) {
      if (field.required) yield [key, IS_REQUIRED] as const;
    } else if (!fitsField(field, value) || field.read(value, false) === undefined) yield [key, field.says] as const;
    else if (field.holdsCard?.(value as string)) yield [key, NO_CARD_NUMBER] as const;
  }
}

/** The body is at level 1, its array at 2. */
const RECORD_LEVEL = 3;

function readRecord(kind: Kind, record: Record<string, unknown>, index: number, plain: boolean) {
  const row: Record<string, unknown> = {};
  let known = 0;
  for (const [key, field] of kind.order) {
    const value = record[key];
    if (value === undefined) continue;
    known++;
    if (value === null) continue;
    const read = field.read(value, plain);
    if (read === undefined) throw badField(`${kind.name}[${index}].${key}`, field.says);
    if (field.holdsCard?.(value as string)) throw refuseCardNumber(`${kind.name}[${index}].${key}`);
    row[key] = read;
  }
  if (Object.keys(record).length > known)
    refuseCards(record, `${kind.name}[${index}]`, RECORD_LEVEL, (key) => !kind.fields.has(key));
  return row;
}
