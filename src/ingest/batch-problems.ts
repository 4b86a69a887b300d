import { isCardNumber } from "../domain/card-number.ts";
import { badFieldError, badFieldsError, type FieldProblem } from "../http/errors.ts";
import type { JsonBody } from "./read-json.ts";
import { isEmptyValue, isValidFieldValue, type RecordField } from "./record-fields.ts";
import { tooDeepError } from "./refuse-excessive-json.ts";
import { type JsonPath, scanJson } from "./scan-json.ts";
import { CARD_NUMBER_RULE, findCards, formatPath } from "./unknown-fields.ts";

export interface CheckedKind {
  name: string;
  fields: ReadonlyMap<string, RecordField>;
}

export const REQUIRED_RULE = "is required";
const NO_CARD_NUMBER_RULE = "must not hold a card number";

/** Further problems are rarely different. */
export const LISTED_PROBLEMS_MAX = 20;
/** More than a batch has fields. Bounds a malicious body's work. */
const FOUND_PROBLEMS_MAX = 10_000;
/** More than a batch has integers. Formatting each duplicate key's path would take too long. */
const JSON_PROBLEMS_MAX = 1_000;

const BODY_LEVEL = 1;
const RECORD_LEVEL = 3; // their array is at level 2

/** In the order of discovery. */
type ProblemsByPath = Map<string, { record: number; rule: string }>;

/** Sorts last. */
const OUTSIDE_RECORDS = Number.POSITIVE_INFINITY;

function addProblem(found: ProblemsByPath, record: number, field: string, rule: string) {
  if (found.size < FOUND_PROBLEMS_MAX && !found.has(field)) found.set(field, { record, rule });
}

/**
 * Finds values that JSON.parse changes silently: duplicate keys, and numbers that lose their form. A body equal to
 * JSON.stringify's output needs no scan.
 *
 * @throws ApiError if the body is nested too deeply, or its array of records appears twice
 */
export function findJsonProblems(kind: CheckedKind, { value, text }: JsonBody): ProblemsByPath {
  const found: ProblemsByPath = new Map();
  if (isCanonical(value, text)) return found;
  let count = 0;
  const add = (path: JsonPath, rule: string) => {
    if (count++ < JSON_PROBLEMS_MAX) addProblem(found, recordIndexOf(kind, path), formatPath("", path), rule);
  };
  const isComplete = scanJson(text, {
    onNumber(path, source) {
      const field = path.length === 3 && path[0] === kind.name ? kind.fields.get(path[2] as string) : undefined;
      if (field?.form === "integer") add(path, field.rule);
      if (!field && isCardNumber(source)) add(path, CARD_NUMBER_RULE);
    },
    onDuplicate(path) {
      const rule = "appears twice in the same object";
      // It is unclear which array is meant, so neither is checked.
      if (path.length === 1 && path[0] === kind.name) throw badFieldError(kind.name, rule);
      add(path, rule);
    },
  });
  if (!isComplete) throw tooDeepError();
  return found;
}

function isCanonical(value: unknown, text: string) {
  try {
    return JSON.stringify(value) === text;
  } catch {
    return false; // too deep for JSON.stringify: the scan reports it
  }
}

const recordIndexOf = ({ name }: CheckedKind, [key, index]: JsonPath) =>
  key === name && typeof index === "number" ? index : OUTSIDE_RECORDS;

/**
 * Lists problems in the order of records and fields.
 *
 * @param jsonProblems  of `findJsonProblems`
 */
export function refuseBatch(
  kind: CheckedKind,
  jsonProblems: ProblemsByPath,
  body: Readonly<Record<string, unknown>>,
  records: readonly unknown[],
) {
  const found: ProblemsByPath = new Map(jsonProblems);
  for (const [index, record] of records.entries()) {
    if (found.size >= FOUND_PROBLEMS_MAX) break;
    const path = `${kind.name}[${index}]`;
    if (typeof record !== "object" || record === null || Array.isArray(record)) {
      addProblem(found, index, path, "must be an object");
      continue;
    }
    const fields = record as Record<string, unknown>;
    for (const [key, rule] of findInvalidFields(kind, fields)) addProblem(found, index, `${path}.${key}`, rule);
    findCards(fields, path, RECORD_LEVEL, isUnknownField(kind), (cardPath) =>
      addProblem(found, index, cardPath, CARD_NUMBER_RULE),
    );
  }
  findCards(body, "", BODY_LEVEL, isOutsideRecords(kind), (cardPath) =>
    addProblem(found, OUTSIDE_RECORDS, cardPath, CARD_NUMBER_RULE),
  );
  const all = [...found].sort(([, a], [, b]) => (a.record === b.record ? 0 : a.record - b.record));
  if (all.length === 0) throw new Error(`${kind.name} were refused, but no problem was found`);
  const problems = all.slice(0, LISTED_PROBLEMS_MAX).map(([field, { rule }]): FieldProblem => ({ field, rule }));
  return badFieldsError(problems, all.length - problems.length);
}

export function* findInvalidFields({ fields }: Pick<CheckedKind, "fields">, record: Readonly<Record<string, unknown>>) {
  for (const [key, field] of fields) {
    const value = Object.hasOwn(record, key) ? record[key] : undefined;
    if (value === undefined) {
      if (field.required) yield [key, REQUIRED_RULE] as const;
    } else if (!field.required && isEmptyValue(value)) {
      // means absent
    } else if (!isValidFieldValue(field, value) || field.read(value, false) === undefined)
      yield [key, field.rule] as const;
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

export const hasCardInUnknownField = (kind: CheckedKind, record: Record<string, unknown>) =>
  findsCard((onCard) => findCards(record, "", RECORD_LEVEL, isUnknownField(kind), onCard));

export const hasCardOutsideRecords = (kind: CheckedKind, body: Record<string, unknown>) =>
  findsCard((onCard) => findCards(body, "", BODY_LEVEL, isOutsideRecords(kind), onCard));
