import { isCardNumber } from "../domain/card-number.ts";
import { badFieldError, badFieldsError, type FieldProblem } from "../http/errors.ts";
import type { JsonBody } from "./read-json.ts";
import { isEmptyValue, isValidFieldValue, type RecordField } from "./record-fields.ts";
import { tooDeepError } from "./refuse-excessive-json.ts";
import { type JsonPath, scanJson } from "./scan-json.ts";
import { CARD_NUMBER_RULE, findCards, formatPath } from "./unknown-fields.ts";

/** What it takes to check records. */
export interface CheckedKind {
  name: string;
  fields: ReadonlyMap<string, RecordField>;
}

/** What a field must be that is not there. */
export const REQUIRED_RULE = "is required";
const NO_CARD_NUMBER_RULE = "must not hold a card number";

/** A message lists so many problems: more of them are rarely different ones. */
export const LISTED_PROBLEMS_MAX = 20;
/** More than a batch has fields. A hostile body may hold more problems; no more of them are looked for. */
const FOUND_PROBLEMS_MAX = 10_000;
/** More than a batch has integers. To name the place of each key that stands twice would take too long. */
const NUMBER_PROBLEMS_MAX = 1_000;

const BODY_LEVEL = 1;
const RECORD_LEVEL = 3; // the array of them is at 2

/** Problems in the order in which they were found, each place once. */
type ProblemsByPath = Map<string, { record: number; says: string }>;

/** Of what stands outside of the records. */
const OUTSIDE_RECORDS = Number.POSITIVE_INFINITY;

function addProblem(found: ProblemsByPath, record: number, field: string, says: string) {
  if (found.size < FOUND_PROBLEMS_MAX && !found.has(field)) found.set(field, { record, says });
}

/**
 * Finds what JSON.parse changes silently. A text that is what JSON.stringify writes has nothing of it: most have not.
 *
 * @throws ApiError when the body is nested too deeply, or its array of records stands there twice
 */
export function findJsonProblems(kind: CheckedKind, { value, text }: JsonBody): ProblemsByPath {
  const found: ProblemsByPath = new Map();
  if (isCanonical(value, text)) return found;
  let flaws = 0;
  const note = (path: JsonPath, says: string) => {
    if (flaws++ < NUMBER_PROBLEMS_MAX) addProblem(found, recordIndexOf(kind, path), formatPath("", path), says);
  };
  const isWhole = scanJson(text, {
    onNumber(path, source) {
      const field = path.length === 3 && path[0] === kind.name ? kind.fields.get(path[2] as string) : undefined;
      if (field?.form === "integer") note(path, field.says);
      if (!field && isCardNumber(source)) note(path, CARD_NUMBER_RULE);
    },
    onDuplicate(path) {
      const says = "stands twice in the same object";
      // Which of the two arrays is meant nobody can say, so neither is looked at.
      if (path.length === 1 && path[0] === kind.name) throw badFieldError(kind.name, says);
      note(path, says);
    },
  });
  if (!isWhole) throw tooDeepError();
  return found;
}

function isCanonical(value: unknown, text: string) {
  try {
    return JSON.stringify(value) === text;
  } catch {
    return false; // nested too deeply for JSON.stringify: the scan says so
  }
}

const recordIndexOf = ({ name }: CheckedKind, [key, index]: JsonPath) =>
  key === name && typeof index === "number" ? index : OUTSIDE_RECORDS;

/**
 * Returns the 400 for a body in which something is wrong: its problems in the order of the records, and in a record in that
 * of the fields.
 *
 * @param flaws  see `findJsonProblems`
 */
export function refuseBatch(
  kind: CheckedKind,
  flaws: ProblemsByPath,
  body: Readonly<Record<string, unknown>>,
  records: readonly unknown[],
) {
  const found: ProblemsByPath = new Map(flaws);
  for (const [index, record] of records.entries()) {
    if (found.size >= FOUND_PROBLEMS_MAX) break;
    const place = `${kind.name}[${index}]`;
    if (typeof record !== "object" || record === null || Array.isArray(record)) {
      addProblem(found, index, place, "must be an object");
      continue;
    }
    const fields = record as Record<string, unknown>;
    for (const [key, says] of findInvalidFields(kind, fields)) addProblem(found, index, `${place}.${key}`, says);
    findCards(fields, place, RECORD_LEVEL, isUnknownField(kind), (at) =>
      addProblem(found, index, at, CARD_NUMBER_RULE),
    );
  }
  findCards(body, "", BODY_LEVEL, isOutsideRecords(kind), (at) =>
    addProblem(found, OUTSIDE_RECORDS, at, CARD_NUMBER_RULE),
  );
  const all = [...found].sort(([, a], [, b]) => (a.record === b.record ? 0 : a.record - b.record));
  if (all.length === 0) throw new Error(`${kind.name} do not fit, but each field does`);
  const problems = all.slice(0, LISTED_PROBLEMS_MAX).map(([field, { says }]): FieldProblem => ({ field, says }));
  return badFieldsError(problems, all.length - problems.length);
}

/** Each field of a record that is not as it must be, and what it must be. */
export function* findInvalidFields({ fields }: Pick<CheckedKind, "fields">, record: Readonly<Record<string, unknown>>) {
  for (const [key, field] of fields) {
    const value = Object.hasOwn(record, key) ? record[key] : undefined;
    if (value === undefined) {
      if (field.required) yield [key, REQUIRED_RULE] as const;
    } else if (!field.required && isEmptyValue(value)) {
      // The same as absent.
    } else if (!isValidFieldValue(field, value) || field.read(value, false) === undefined)
      yield [key, field.says] as const;
    else if (field.holdsCard?.(value as string)) yield [key, NO_CARD_NUMBER_RULE] as const;
  }
}

const findsCard = (find: (onCard: () => void) => void) => {
  let found = false;
  find(() => {
    found = true;
  });
  return found;
};

const isUnknownField =
  ({ fields }: CheckedKind) =>
  (key: string) =>
    !fields.has(key);
const isOutsideRecords =
  ({ name }: CheckedKind) =>
  (key: string) =>
    key !== name;

/** Whether a field of a record that Dunlin does not know holds a card number. */
export const hasCardInUnknownField = (kind: CheckedKind, record: Record<string, unknown>) =>
  findsCard((onCard) => findCards(record, "", RECORD_LEVEL, isUnknownField(kind), onCard));

/** Whether a field of the body, beside its records, holds a card number. */
export const hasCardOutsideRecords = (kind: CheckedKind, body: Record<string, unknown>) =>
  findsCard((onCard) => findCards(body, "", BODY_LEVEL, isOutsideRecords(kind), onCard));
