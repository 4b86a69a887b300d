import type { RecordKind } from "../api/ingest/batch.ts";
import type { Field } from "../api/ingest/fields.ts";
import type { Header, Reading } from "../domain/reading.ts";
import { cardFundingOf } from "../domain/transaction.ts";
import {
  amountSays,
  capitals,
  isAbsentWord,
  minorText,
  smallLetters,
  stateSays,
  stateWord,
  transactionStateOf,
} from "../domain/written.ts";
import { momentSays, momentText } from "../domain/written-moment.ts";

/** What a row of a CSV says. */
export interface CsvRecord {
  record: Record<string, unknown>;
  /** Words such as NULL that were read as an empty cell, as they stand there. */
  absent: string[];
  /** Fields that hold an id which a spreadsheet has rounded. */
  mangled: string[];
}

/** How Excel shows a number of more than eleven digits, and saves it: 1.23457E+15, with the decimals of its country. */
const ROUNDED = /^\d(?:[.,]\d+)?E\+\d{2,}$/;
const isId = (field: string) => field === "id" || field.endsWith("Id");

/** What is said of an id that a spreadsheet has rounded. */
export const IS_MANGLED =
  "was rounded by a spreadsheet, as in 1.23457E+15, so several ids may have become one; export the file again, and do not save it in a spreadsheet";

/**
 * What a row of a CSV says, in the types and the spelling that the API wants. What is empty, or a word such as NULL, is absent; what can't be read stays as it is, for the API's code to
 * refuse.
 */
export function recordOf(
  kind: RecordKind<unknown>,
  header: Header,
  cells: readonly string[],
  reading: Reading,
): CsvRecord {
  const record: Record<string, unknown> = {};
  const absent: string[] = [];
  const mangled: string[] = [];
  const currency = cells[header.findIndex(([, field]) => field === "currency")] ?? "";
  for (const [index, [, name]] of header.entries()) {
    const cell = cells[index]!;
    if (name === undefined || cell === "") continue;
    if (isAbsentWord(cell) && !(name === "state" && reading.states.has(stateWord(cell)))) {
      absent.push(cell);
      continue;
    }
    if (isId(name) && ROUNDED.test(cell)) mangled.push(name);
    const field = kind.fields.get(name)!;
    const text = spellingOf(kind, name, field, cell, currency, reading);
    const isBoolean = (field.schema as { type?: string }).type === "boolean" && /^(true|false)$/i.test(text);
    if (isBoolean) record[name] = text.toLowerCase() === "true";
    else record[name] = field.form === "integer" && /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : text;
  }
  return { record, absent, mangled };
}

function spellingOf(
  kind: RecordKind<unknown>,
  name: string,
  { form, prefix }: Field,
  cell: string,
  currency: string,
  { states, dates, decimals }: Reading,
): string {
  if (form === "moment") return momentText(cell, dates);
  if (isMoney(name)) return minorText(cell, upper(currency), decimals);
  if (name === "currency" || name === "cardCountry") return upper(cell);
  if (name === "paymentMethodType") return smallLetters(cell);
  if (prefix === undefined) return cell;
  const word = capitals(cell, prefix);
  if (name === "cardFunding") return prefix + (cardFundingOf(cell) ?? word);
  if (name !== "state") return prefix + word;
  return prefix + (states.get(stateWord(cell)) ?? ((isOfTransactions(kind) && transactionStateOf(word)) || word));
}

const isMoney = (name: string) => name === "amount" || name === "amountDue";

const upper = (code: string) => code.trim().toUpperCase();

const isOfTransactions = ({ name }: RecordKind<unknown>) => name === "transactions";

/** An amount that can't be read, as it stands in the file. */
const unquoted = (amount: unknown) => String(amount ?? "").replace(/^"|"$/g, "");

const ALSO_READ = "or a word that can only mean one of them, such as Succeeded or Declined";

/**
 * What a field of a CSV must be, where that is more than the API takes; undefined: it is the same.
 *
 * @param record  as `recordOf` gave it
 */
export function saysOf(
  kind: RecordKind<unknown>,
  name: string,
  record: Readonly<Record<string, unknown>>,
  reading: Reading,
): string | undefined {
  const { form, words, prefix } = kind.fields.get(name)!;
  if (form === "moment") return momentSays(reading, String(record[name] ?? ""));
  if (isMoney(name)) return amountSays(reading, unquoted(record[name]), String(record.currency ?? ""));
  if (name !== "state") return undefined;
  const all = isOfTransactions(kind) ? [...words!, ALSO_READ] : words!;
  return stateSays(all, String(record[name]).slice(prefix!.length));
}
