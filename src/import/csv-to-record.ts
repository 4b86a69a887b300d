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

export interface CsvRecord {
  record: Record<string, unknown>;
  /** Words such as NULL that were read as empty. */
  absentWords: string[];
  /** Fields with an id that a spreadsheet has rounded. */
  roundedFields: string[];
}

/** Excel's form of a number with more than eleven digits: 1.23457E+15, with a local decimal separator. */
const ROUNDED_NUMBER = /^\d(?:[.,]\d+)?E\+\d{2,}$/;
const isIdField = (field: string) => field === "id" || field.endsWith("Id");

/** Follows the field's name. */
export const ROUNDED_ID_PROBLEM =
  "was rounded by a spreadsheet (such as 1.23457E+15), so several ids may have become one: export the file again, and do not save it in a spreadsheet";

/**
 * Converts a CSV row to the API's types and spelling. Empty cells and words such as NULL are absent. Unreadable values stay for
 * the API's validation to refuse.
 */
export function csvToRecord(
  kind: RecordKind<unknown>,
  header: HeaderMapping,
  cells: readonly string[],
  csvFormat: CsvFormat,
): CsvRecord {
  const record: Record<string, unknown> = {};
  const absentWords: string[] = [];
  const roundedFields: string[] = [];
  const currency = cells[header.findIndex(([, field]) => field === "currency")] ?? "";
  for (const [index, [, name]] of header.entries()) {
    const cell = cells[index]!;
    if (name === undefined || cell === "") continue;
    if (isAbsentWord(cell) && !(name === "state" && csvFormat.states.has(normalizeStateWord(cell)))) {
      absentWords.push(cell);
      continue;
    }
    if (isIdField(name) && ROUNDED_NUMBER.test(cell)) roundedFields.push(name);
    const field = kind.fields.get(name)!;
    const text = normalizeSpelling(kind, name, field, cell, currency, csvFormat);
    const isBoolean = (field.schema as { type?: string }).type === "boolean" && /^(true|false)$/i.test(text);
    if (isBoolean) record[name] = text.toLowerCase() === "true";
    else record[name] = field.form === "integer" && /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : text;
  }
  return { record, absentWords, roundedFields };
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

/** As it is in the file. */
const withoutQuotes = (amount: unknown) => String(amount ?? "").replace(/^"|"$/g, "");

const ALSO_ACCEPTED = "or an unambiguous synonym, such as Succeeded or Declined";

/**
 * If the CSV format allows more than the API.
 *
 * @param record  as returned by `csvToRecord`
 */
export function csvFieldRequirement(
  kind: RecordKind<unknown>,
  name: string,
  record: Readonly<Record<string, unknown>>,
  csvFormat: CsvFormat,
): string | undefined {
  const { form, values, prefix } = kind.fields.get(name)!;
  if (form === "timestamp") return describeDateRule(csvFormat, String(record[name] ?? ""));
  if (isMoneyField(name))
    return describeAmountRule(csvFormat, withoutQuotes(record[name]), String(record.currency ?? ""));
  if (name !== "state") return undefined;
  const all = isOfTransactions(kind) ? [...values!, ALSO_ACCEPTED] : values!;
  return describeStateRule(all, String(record[name]).slice(prefix!.length));
}
