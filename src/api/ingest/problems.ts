import { badField, badFields, type Problem } from "../errors.ts";
import { isCardNumber } from "../json/card-number.ts";
import type { JsonBody } from "../json/read-json.ts";
import { tooDeep } from "../json/refuse-heap.ts";
import { type Path, scanJson } from "../json/scan-json.ts";
import { type Field, fitsField, isEmpty } from "./fields.ts";
import { CARD_NUMBER_ANYWHERE, findCards, placeOf } from "./unknown-fields.ts";

/** What it takes to check records. */
export interface Checked {
  name: string;
  fields: ReadonlyMap<string, Field>;
}

/** What a field must be that is not there. */
export const IS_REQUIRED = "is required";
const NO_CARD_NUMBER = "must not hold a card number";

/** A message lists so many problems: more of them are rarely different ones. */
export const LISTED_MAX = 20;
/** More than a batch has fields. A hostile body may hold more problems; no more of them are looked for. */
const FOUND_MAX = 10_000;
/** More than a batch has integers. To name the place of each key that stands twice would take too long. */
const FLAWS_MAX = 1_000;

const BODY_LEVEL = 1;
const RECORD_LEVEL = 3; // the array of them is at 2

/** Problems in the order in which they were found, each place once. */
type Found = Map<string, { record: number; says: string }>;

/** Of what stands outside of the records. */
const NO_RECORD = Number.POSITIVE_INFINITY;

function add(found: Found, record: number, field: string, says: string) {
  if (found.size < FOUND_MAX && !found.has(field)) found.set(field, { record, says });
}

/**
 * Finds what JSON.parse changes silently. A text that is what JSON.stringify writes has nothing of it: most have not.
 *
 * @throws ApiError when the body is nested too deeply, or its array of records stands there twice
 */
export function flawsOf(kind: Checked, { value, text }: JsonBody): Found {
  const found: Found = new Map();
  if (isCanonical(value, text)) return found;
  let flaws = 0;
  const note = (path: Path, says: string) => {
    if (flaws++ < FLAWS_MAX) add(found, recordOf(kind, path), placeOf("", path), says);
  };
  const isWhole = scanJson(text, {
    onNumber(path, source) {
      const field = path.length === 3 && path[0] === kind.name ? kind.fields.get(path[2] as string) : undefined;
      if (field?.form === "integer") note(path, field.says);
      if (!field && isCardNumber(source)) note(path, CARD_NUMBER_ANYWHERE);
    },
    onDuplicate(path) {
      const says = "stands twice in the same object";
      // Which of the two arrays is meant nobody can say, so neither is looked at.
      if (path.length === 1 && path[0] === kind.name) throw badField(kind.name, says);
      note(path, says);
    },
  });
  if (!isWhole) throw tooDeep();
  return found;
}

function isCanonical(value: unknown, text: string) {
  try {
    return JSON.stringify(value) === text;
  } catch {
    return false; // nested too deeply for JSON.stringify: the scan says so
  }
}

const recordOf = ({ name }: Checked, [key, index]: Path) =>
  key === name && typeof index === "number" ? index : NO_RECORD;

/**
 * Returns the 400 for a body in which something is wrong: its problems in the order of the records, and in a record in that
 * of the fields.
 *
 * @param flaws  see `flawsOf`
 */
export function refuseBatch(
  kind: Checked,
  flaws: Found,
  body: Readonly<Record<string, unknown>>,
  records: readonly unknown[],
) {
  const found: Found = new Map(flaws);
  for (const [index, record] of records.entries()) {
    if (found.size >= FOUND_MAX) break;
    const place = `${kind.name}[${index}]`;
    if (typeof record !== "object" || record === null || Array.isArray(record)) {
      add(found, index, place, "must be an object");
      continue;
    }
    const fields = record as Record<string, unknown>;
    for (const [key, says] of misfitsOf(kind, fields)) add(found, index, `${place}.${key}`, says);
    findCards(fields, place, RECORD_LEVEL, isUnknown(kind), (at) => add(found, index, at, CARD_NUMBER_ANYWHERE));
  }
  findCards(body, "", BODY_LEVEL, isBeside(kind), (at) => add(found, NO_RECORD, at, CARD_NUMBER_ANYWHERE));
  const all = [...found].sort(([, a], [, b]) => (a.record === b.record ? 0 : a.record - b.record));
  if (all.length === 0) throw new Error(`${kind.name} do not fit, but each field does`);
  const problems = all.slice(0, LISTED_MAX).map(([field, { says }]): Problem => ({ field, says }));
  return badFields(problems, all.length - problems.length);
}

/** Each field of a record that is not as it must be, and what it must be. */
export function* misfitsOf({ fields }: Pick<Checked, "fields">, record: Readonly<Record<string, unknown>>) {
  for (const [key, field] of fields) {
    const value = Object.hasOwn(record, key) ? record[key] : undefined;
    if (value === undefined) {
      if (field.required) yield [key, IS_REQUIRED] as const;
    } else if (!field.required && isEmpty(value)) {
      // The same as absent.
    } else if (!fitsField(field, value) || field.read(value, false) === undefined) yield [key, field.says] as const;
    else if (field.holdsCard?.(value as string)) yield [key, NO_CARD_NUMBER] as const;
  }
}

const isFound = (find: (onCard: () => void) => void) => {
  let found = false;
  find(() => {
    found = true;
  });
  return found;
};

const isUnknown =
  ({ fields }: Checked) =>
  (key: string) =>
    !fields.has(key);
const isBeside =
  ({ name }: Checked) =>
  (key: string) =>
    key !== name;

/** Whether a field of a record that Dunlin does not know holds a card number. */
export const hasUnknownCard = (kind: Checked, record: Record<string, unknown>) =>
  isFound((onCard) => findCards(record, "", RECORD_LEVEL, isUnknown(kind), onCard));

/** Whether a field of the body, beside its records, holds a card number. */
export const hasCardBeside = (kind: Checked, body: Record<string, unknown>) =>
  isFound((onCard) => findCards(body, "", BODY_LEVEL, isBeside(kind), onCard));
