import Type, { type TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { holdsCardNumber } from "../domain/card-number.ts";
import { CONTROL_CHARACTER } from "../domain/display-text.ts";
import { isTimeZone, ZONE_CHARS_MAX } from "../domain/time-zone.ts";
import {
  FUTURE_TIMESTAMP_PATTERN,
  FUTURE_TIMESTAMP_RULE,
  FUTURE_YEAR_MAX,
  parseTimestamp,
  TIMESTAMP_PATTERN,
  TIMESTAMP_RULE,
} from "../domain/timestamp.ts";

export interface RecordField {
  schema: TSchema;
  required: boolean;
  /** As in "invoices[3].amount must be an integer". */
  rule: string;
  /**
   * Returns undefined if `rule` is broken, null if the value means absent.
   *
   * @param value  matches the schema
   * @param isPlainAscii  see `JsonBody`
   */
  read(value: unknown, isPlainAscii: boolean): unknown;
  /** In JSON only. */
  prefix?: string;
  /** Without the prefix. */
  values?: readonly string[];
  holdsCard?(value: string): boolean;
  /** An integer must have digits only, because JSON.parse changes every other form. */
  form?: "identifier" | "timestamp" | "integer";
  /** Rules that `read` checks, for the OpenAPI document. */
  documentedSchema?: Readonly<Record<string, unknown>>;
}

const schemaChecks = new WeakMap<TSchema, (value: unknown) => boolean>();

export function isValidFieldValue({ schema }: RecordField, value: unknown): boolean {
  let check = schemaChecks.get(schema);
  if (!check) {
    const compiled = Compile(schema);
    check = (value) => compiled.Check(value);
    schemaChecks.set(schema, check);
  }
  return check(value);
}

export const optionalField = (field: RecordField): RecordField => ({ ...field, required: false });

export const isEmptyValue = (value: unknown) => value === null || value === "";

const ID_CHARS_MAX = 255;
const ID_RULE = `must be a string of 1 to ${ID_CHARS_MAX} characters, without control characters or lone surrogates`;

// Every regular expression dialect supports \x. Lone surrogates have no portable notation.
const CLEAN_TEXT = { pattern: "^[^\\x00-\\x1f\\x7f-\\x9f]*$" };

/** PostgreSQL and every client preserve it, and it fits on one line. */
const isCleanText = (text: string) => text.isWellFormed() && !CONTROL_CHARACTER.test(text);

export const isIdentifier = (text: string) =>
  text.length > 0 && text.length <= 2 * ID_CHARS_MAX && [...text].length <= ID_CHARS_MAX && isCleanText(text);

export const identifier: RecordField = {
  schema: Type.String({ minLength: 1, maxLength: ID_CHARS_MAX }),
  required: true,
  rule: ID_RULE,
  read: (value, isPlainAscii) => (isPlainAscii || isCleanText(value as string) ? value : undefined),
  form: "identifier",
  holdsCard: (value) => holdsCardNumber(value, 2),
  documentedSchema: CLEAN_TEXT,
};

const TEXT_CHARS_MAX = 255;

/** Written by a gateway or a person. */
export const text: RecordField = {
  schema: Type.String({ maxLength: TEXT_CHARS_MAX }),
  required: true,
  rule: `must be a string of at most ${TEXT_CHARS_MAX} characters, without control characters or lone surrogates`,
  read: (value, isPlainAscii) => (isPlainAscii || isCleanText(value as string) ? value : undefined),
  holdsCard: (value) => holdsCardNumber(value, 1),
  documentedSchema: CLEAN_TEXT,
};

const MESSAGE_CHARS_MAX = 4000;

/** May have several lines. */
export const message: RecordField = {
  schema: Type.String({ maxLength: MESSAGE_CHARS_MAX }),
  required: true,
  rule: `must be a string of at most ${MESSAGE_CHARS_MAX} characters, without null characters or lone surrogates`,
  read: (value) => ((value as string).isWellFormed() && !(value as string).includes("\u0000") ? value : undefined),
  holdsCard: (value) => holdsCardNumber(value, 1),
  documentedSchema: { pattern: "^[^\\x00]*$" },
};

const passThrough = (value: unknown) => value;

/** @param maxLength  implied by `regex`, so only documented */
const patternField = (regex: string, maxLength: number, rule: string): RecordField => ({
  schema: Type.String({ pattern: regex }),
  required: true,
  rule,
  read: passThrough,
  documentedSchema: { maxLength },
});

export const currency = patternField("^[A-Z]{3}$", 3, "must be three capital letters");
export const country = patternField("^[A-Z]{2}$", 2, "must be two capital letters (ISO 3166 alpha-2)");
export const cardBin = patternField("^[0-9]{6,8}$", 8, "must be 6 to 8 digits");
export const cardLast4 = patternField("^[0-9]{4}$", 4, "must be 4 digits");

export const paymentMethodType: RecordField = {
  ...patternField("^[a-z][a-z0-9_]{0,63}$", 64, "must be a lower-case word, such as card or sepa_debit"),
  holdsCard: (value) => holdsCardNumber(value, 1),
};

const DECLINE_PREFIX = "DECLINE_CATEGORY_";
export const declineCategory: RecordField = {
  ...patternField(
    `^${DECLINE_PREFIX}[A-Z][A-Z0-9_]{0,63}$`,
    DECLINE_PREFIX.length + 64,
    `must be a word in capitals that begins with ${DECLINE_PREFIX}`,
  ),
  prefix: DECLINE_PREFIX,
  read: (value) => (value as string).slice(DECLINE_PREFIX.length),
  holdsCard: (value) => holdsCardNumber(value, 1),
};

/** In JSON, values have the prefix. */
export const enumField = (prefix: string, values: readonly string[]): RecordField => ({
  schema: Type.Enum(values.map((value) => prefix + value)),
  required: true,
  rule: `must be one of ${values.map((value) => prefix + value).join(", ")}`,
  prefix,
  values,
  read: (value) => (value as string).slice(prefix.length),
});

const UNKNOWN_VALUE = "UNKNOWN";

/** UNKNOWN means absent. */
export function enumOrUnknownField(prefix: string, values: readonly string[]): RecordField {
  const field = enumField(prefix, [...values, UNKNOWN_VALUE]);
  return { ...field, read: (value) => (value === prefix + UNKNOWN_VALUE ? null : field.read(value, true)) };
}

const TIMESTAMP_CHARS_MAX = 64;

export const timestamp: RecordField = {
  // `parseTimestamp` checks the minimum length faster than the schema would.
  schema: Type.String({ maxLength: TIMESTAMP_CHARS_MAX }),
  required: true,
  rule: TIMESTAMP_RULE,
  read: (value) => parseTimestamp(value as string),
  form: "timestamp",
  documentedSchema: { format: "date-time", pattern: TIMESTAMP_PATTERN },
};

/** May be in the future. */
export const futureTimestamp: RecordField = {
  ...timestamp,
  rule: FUTURE_TIMESTAMP_RULE,
  read: (value) => parseTimestamp(value as string, FUTURE_YEAR_MAX),
  documentedSchema: { format: "date-time", pattern: FUTURE_TIMESTAMP_PATTERN },
};

export const integerField = (minimum: number, maximum: number): RecordField => ({
  schema: Type.Integer({ minimum, maximum }),
  required: true,
  rule: `must be an integer from ${minimum} to ${maximum}, written with digits only`,
  read: passThrough,
  form: "integer",
});

/** In minor units. */
export const amount = integerField(0, Number.MAX_SAFE_INTEGER);
/** PostgreSQL's int4. */
export const INT4_MAX = 2 ** 31 - 1;

export const boolean: RecordField = {
  schema: Type.Boolean(),
  required: true,
  rule: "must be true or false",
  read: passThrough,
};

export const timezone: RecordField = {
  schema: Type.String(),
  required: true,
  rule: "must be an IANA time zone, such as Europe/Berlin",
  read: (value) => (isTimeZone(value as string) ? value : undefined),
  documentedSchema: { maxLength: ZONE_CHARS_MAX, pattern: "^[A-Za-z][A-Za-z0-9_+/-]*$" },
};
