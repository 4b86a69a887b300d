import Type, { type TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { holdsCardNumber } from "../domain/card-number.ts";
import { isTimeZone, ZONE_CHARS_MAX } from "../domain/time-zone.ts";
import {
  FUTURE_TIMESTAMP_PATTERN,
  FUTURE_TIMESTAMP_RULE,
  FUTURE_YEAR_MAX,
  parseTimestamp,
  TIMESTAMP_PATTERN,
  TIMESTAMP_RULE,
} from "../domain/timestamp.ts";

/** One field of a record: how it looks in JSON, and how it is read. */
export interface RecordField {
  schema: TSchema;
  required: boolean;
  /** What a value must be, as in "invoices[3].amount must be an integer". */
  says: string;
  /**
   * The value for the domain, or undefined when it is not as `says` wants it; null when it means that the field is absent.
   *
   * @param value  one that the schema allows
   * @param plain  see `JsonBody.plain`: control characters and lone surrogates need not be looked for
   */
  read(value: unknown, plain: boolean): unknown;
  /** What stands in front of the value in JSON, and not in the domain. */
  prefix?: string;
  /** Of a field that takes one of several words: these, without the prefix. */
  words?: readonly string[];
  /** Whether the value holds a card number that it must not hold. */
  holdsCard?(value: string): boolean;
  /** How the value is written. An integer is written with digits only: JSON.parse changes any other number. */
  form?: "identifier" | "moment" | "integer";
  /** What `read` checks beyond `schema`, as far as JSON Schema can say it: for the OpenAPI document, which wants it all. */
  alsoSays?: Readonly<Record<string, unknown>>;
}

const schemaChecks = new WeakMap<TSchema, (value: unknown) => boolean>();

/** Whether a value is as the schema of its field says. */
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

/** Whether a value of an optional field means that the field is absent. */
export const isEmptyValue = (value: unknown) => value === null || value === "";

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is its purpose
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;
const ID_CHARS_MAX = 255;
const ID_RULE = `must be a string of 1 to ${ID_CHARS_MAX} characters, without control characters or lone surrogates`;

// Written with \x, which every dialect of regular expressions knows. No pattern can name lone surrogates in all of them.
const CLEAN_TEXT = { pattern: "^[^\\x00-\\x1f\\x7f-\\x9f]*$" };

/** Whether PostgreSQL and every client keep this text as it is, and a person can read it in one line. */
const isCleanText = (text: string) => text.isWellFormed() && !CONTROL_CHARACTER.test(text);

/** An identifier of the merchant's. */
export const isIdentifier = (text: string) =>
  text.length > 0 && text.length <= 2 * ID_CHARS_MAX && [...text].length <= ID_CHARS_MAX && isCleanText(text);

export const identifier: RecordField = {
  schema: Type.String({ minLength: 1, maxLength: ID_CHARS_MAX }),
  required: true,
  says: ID_RULE,
  read: (value, plain) => (plain || isCleanText(value as string) ? value : undefined),
  form: "identifier",
  holdsCard: (value) => holdsCardNumber(value, 2),
  alsoSays: CLEAN_TEXT,
};

const TEXT_CHARS_MAX = 255;

/** A name or a code as a gateway or a person wrote it. */
export const text: RecordField = {
  schema: Type.String({ maxLength: TEXT_CHARS_MAX }),
  required: true,
  says: `must be a string of at most ${TEXT_CHARS_MAX} characters, without control characters or lone surrogates`,
  read: (value, plain) => (plain || isCleanText(value as string) ? value : undefined),
  holdsCard: (value) => holdsCardNumber(value, 1),
  alsoSays: CLEAN_TEXT,
};

const MESSAGE_CHARS_MAX = 4000;

/** A text that may have lines. */
export const message: RecordField = {
  schema: Type.String({ maxLength: MESSAGE_CHARS_MAX }),
  required: true,
  says: `must be a string of at most ${MESSAGE_CHARS_MAX} characters, without null characters or lone surrogates`,
  read: (value) => ((value as string).isWellFormed() && !(value as string).includes("\u0000") ? value : undefined),
  holdsCard: (value) => holdsCardNumber(value, 1),
  alsoSays: { pattern: "^[^\\x00]*$" },
};

const passThrough = (value: unknown) => value;

/** @param maxLength  what `regex` says too; to count the characters once more would only take time */
const patternField = (regex: string, maxLength: number, says: string): RecordField => ({
  schema: Type.String({ pattern: regex }),
  required: true,
  says,
  read: passThrough,
  alsoSays: { maxLength },
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

/** One of `values`, each with `prefix` in front of it in JSON. */
export const enumField = (prefix: string, values: readonly string[]): RecordField => ({
  schema: Type.Enum(values.map((value) => prefix + value)),
  required: true,
  says: `must be one of ${values.map((value) => prefix + value).join(", ")}`,
  prefix,
  words: values,
  read: (value) => (value as string).slice(prefix.length),
});

const UNKNOWN_VALUE = "UNKNOWN";

/** As `oneOf`, and UNKNOWN, which is read as null: the same as absent. */
export function enumOrUnknownField(prefix: string, values: readonly string[]): RecordField {
  const field = enumField(prefix, [...values, UNKNOWN_VALUE]);
  return { ...field, read: (value) => (value === prefix + UNKNOWN_VALUE ? null : field.read(value, true)) };
}

const TIMESTAMP_CHARS_MAX = 64;

export const timestamp: RecordField = {
  // No smallest length: parseMoment knows it, and the compiled check would count the code points of each moment.
  schema: Type.String({ maxLength: TIMESTAMP_CHARS_MAX }),
  required: true,
  says: TIMESTAMP_RULE,
  read: (value) => parseTimestamp(value as string),
  form: "moment",
  alsoSays: { format: "date-time", pattern: TIMESTAMP_PATTERN },
};

/** One that may lie ahead, such as the end of a subscription. */
export const futureTimestamp: RecordField = {
  ...timestamp,
  says: FUTURE_TIMESTAMP_RULE,
  read: (value) => parseTimestamp(value as string, FUTURE_YEAR_MAX),
  alsoSays: { format: "date-time", pattern: FUTURE_TIMESTAMP_PATTERN },
};

export const integerField = (minimum: number, maximum: number): RecordField => ({
  schema: Type.Integer({ minimum, maximum }),
  required: true,
  says: `must be an integer from ${minimum} to ${maximum}, written with digits only`,
  read: passThrough,
  form: "integer",
});

/** Minor units of the currency. */
export const amount = integerField(0, Number.MAX_SAFE_INTEGER);
/** What a column of type int4 holds. */
export const INT4_MAX = 2 ** 31 - 1;

export const boolean: RecordField = {
  schema: Type.Boolean(),
  required: true,
  says: "must be true or false",
  read: passThrough,
};

export const timezone: RecordField = {
  schema: Type.String(),
  required: true,
  says: "must be an IANA time zone, such as Europe/Berlin",
  read: (value) => (isTimeZone(value as string) ? value : undefined),
  alsoSays: { maxLength: ZONE_CHARS_MAX, pattern: "^[A-Za-z][A-Za-z0-9_+/-]*$" },
};
