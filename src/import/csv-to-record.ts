import type { CsvFormat, HeaderMapping } from "../domain/csv-format.ts";
import { describeDateRule, toTimestampText } from "../domain/date-format.ts";
import { parseCardFunding } from "../domain/transaction.ts";
import {
  describeAmountRule,
  describeStateRule,
  isAbsentWord,
  normalizeStateWord,
  parseTransactionState,
  toLowerSnakeCase,
  toMinorUnitsText,
  toUpperSnakeCase,
} from "../domain/value-format.ts";
import type { RecordKind } from "../ingest/parse-batch.ts";
import type { RecordField } from "../ingest/record-fields.ts";

/** What a row of a CSV says. */
export interface CsvRecord {
  record: Record<string, unknown>;
  /** Words such as NULL that were read as an empty cell, as they stand there. */
  absent: string[];
  /** Fields that hold an id which a spreadsheet has rounded. */
  mangled: string[];
}

/** How Excel shows a number of more than eleven digits, and saves it: 1.23457E+15, with the decimals of its country. */
const ROUNDED_NUMBER = /^\d(?:[.,]\d+)?E\+\d{2,}$/;
const isIdField = (field: string) => field === "id" || field.endsWith("Id");

/** What is said of an id that a spreadsheet has rounded. */
export const MANGLED_ID_PROBLEM =
  "was rounded by a spreadsheet, as in 1.23457E+15, so several ids may have become one; export the file again, and do not save it in a spreadsheet";

/**
 * What a row of a CSV says, in the types and the spelling that the API wants. What is empty, or a word such as NULL, is absent; what can't be read stays as it is, for the API's code to
 * refuse.
 */
export function csvToRecord(
  kind: RecordKind<unknown>,
  header: HeaderMapping,
  cells: readonly string[],
  reading: CsvFormat,
): CsvRecord {
  const record: Record<string, unknown> = {};
  const absent: string[] = [];
  const mangled: string[] = [];
  const currency = cells[header.findIndex(([, field]) => field === "currency")] ?? "";
  for (const [index, [, name]] of header.entries()) {
    const cell = cells[index]!;
    if (name === undefined || cell === "") continue;
    if (isAbsentWord(cell) && !(name === "state" && reading.states.has(normalizeStateWord(cell)))) {
      absent.push(cell);
      continue;
    }
    if (isIdField(name) && ROUNDED_NUMBER.test(cell)) mangled.push(name);
    const field = kind.fields.get(name)!;
    const text = normalizeSpelling(kind, name, field, cell, currency, reading);
    const isBoolean = (field.schema as { type?: string }).type === "boolean" && /^(true|false)$/i.test(text);
    if (isBoolean) record[name] = text.toLowerCase() === "true";
    else record[name] = field.form === "integer" && /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : text;
  }
  return { record, absent, mangled };
}

function normalizeSpelling(
  kind: RecordKind<unknown>,
  name: string,
  { form, prefix }: RecordField,
  cell: string,
  currency: string,
  { states, dates, decimals }: CsvFormat,
): string {
  if (form === "timestamp") return toTimestampText(cell, dates);
  if (isMoneyField(name)) return toMinorUnitsText(cell, toUpperCode(currency), decimals);
  if (name === "currency" || name === "cardCountry") return toUpperCode(cell);
  if (name === "paymentMethodType") return toLowerSnakeCase(cell);
  if (prefix === undefined) return cell;
  const word = toUpperSnakeCase(cell, prefix);
  if (name === "cardFunding") return prefix + (parseCardFunding(cell) ?? word);
  if (name !== "state") return prefix + word;
  return (
    prefix + (states.get(normalizeStateWord(cell)) ?? ((isOfTransactions(kind) && parseTransactionState(word)) || word))
  );
}

const isMoneyField = (name: string) => name === "amount" || name === "amountDue";

const toUpperCode = (code: string) => code.trim().toUpperCase();

const isOfTransactions = ({ name }: RecordKind<unknown>) => name === "transactions";

/** An amount that can't be read, as it stands in the file. */
const withoutQuotes = (amount: unknown) => String(amount ?? "").replace(/^"|"$/g, "");

const ALSO_ACCEPTED = "or a word that can only mean one of them, such as Succeeded or Declined";

/**
 * What a field of a CSV must be, where that is more than the API takes; undefined: it is the same.
 *
 * @param record  as `recordOf` gave it
 */
export function csvFieldRequirement(
  kind: RecordKind<unknown>,
  name: string,
  record: Readonly<Record<string, unknown>>,
  reading: CsvFormat,
): string | undefined {
  const { form, values, prefix } = kind.fields.get(name)!;
  if (form === "timestamp") return describeDateRule(reading, String(record[name] ?? ""));
  if (isMoneyField(name))
    return describeAmountRule(reading, withoutQuotes(record[name]), String(record.currency ?? ""));
  if (name !== "state") return undefined;
  const all = isOfTransactions(kind) ? [...values!, ALSO_ACCEPTED] : values!;
  return describeStateRule(all, String(record[name]).slice(prefix!.length));
}
