import type { RecordKind } from "../api/ingest/batch.ts";
import type { Field } from "../api/ingest/fields.ts";
import type { Header, Reading } from "../domain/reading.ts";
import { TRANSACTION_STATES } from "../domain/transaction.ts";
import {
  amountSays,
  capitals,
  minorText,
  momentSays,
  momentText,
  smallLetters,
  transactionStateOf,
} from "../domain/written.ts";

/** What a row of a CSV says, in the types and the spelling that the API wants. What is empty is absent; what can't be read stays as it is, for the API's code to refuse. */
export function recordOf(
  kind: RecordKind<unknown>,
  header: Header,
  cells: readonly string[],
  reading: Reading,
): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  const currency = cells[header.findIndex(([, field]) => field === "currency")] ?? "";
  for (const [index, [, name]] of header.entries()) {
    const cell = cells[index]!;
    if (name === undefined || cell === "" || saysNothing(name, cell)) continue;
    const field = kind.fields.get(name)!;
    const text = spellingOf(kind, name, field, cell, currency, reading);
    const isBoolean = (field.schema as { type?: string }).type === "boolean" && /^(true|false)$/i.test(text);
    if (isBoolean) record[name] = text.toLowerCase() === "true";
    else record[name] = field.form === "integer" && /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : text;
  }
  return record;
}

function spellingOf(
  kind: RecordKind<unknown>,
  name: string,
  { form, prefix }: Field,
  cell: string,
  currency: string,
  { dates, decimals }: Reading,
): string {
  if (form === "moment") return momentText(cell, dates);
  if (name === "amount") return minorText(cell, upper(currency), decimals);
  if (name === "currency" || name === "cardCountry") return upper(cell);
  if (name === "paymentMethodType") return smallLetters(cell);
  if (prefix === undefined) return cell;
  const word = capitals(cell, prefix);
  return prefix + ((kind.name === "transactions" && name === "state" && transactionStateOf(word)) || word);
}

/** Gateways write so of cards whose kind they do not know. */
const saysNothing = (name: string, cell: string) => name === "cardFunding" && capitals(cell) === "UNKNOWN";

const upper = (code: string) => code.trim().toUpperCase();

const STATE_SAYS = `must be one of ${TRANSACTION_STATES.join(", ")}, or a word that can only mean one of them, such as Succeeded or Declined; others, such as Authorised, are to be replaced in the file`;

/** What a field of a CSV must be, where that is more than the API takes; undefined: it is the same. */
export function saysOf(kind: RecordKind<unknown>, name: string, { form }: Field, reading: Reading): string | undefined {
  if (form === "moment") return momentSays(reading);
  if (kind.name === "transactions" && name === "state") return STATE_SAYS;
  return name === "amount" ? amountSays(reading) : undefined;
}
