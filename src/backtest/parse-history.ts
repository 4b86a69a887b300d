import { CsvError, parse } from "csv-parse/sync";
import {
  type CsvFormat,
  createColumnFilter,
  DEFAULT_CSV_FORMAT,
  formatColumnList,
  mapHeader,
  normalizeName,
  refuseCsvFormatForJson,
  stateWordsOf,
} from "../domain/csv-format.ts";
import {
  BAD_QUOTE_MESSAGE,
  COLUMN_COUNT_MESSAGE,
  createCsvOptions,
  createEmptyRowFilter,
  createFormulaReader,
  detectDelimiter,
  hasColumns,
  unwrapFormula,
} from "../domain/csv-input.ts";
import { describeDateRule, toTimestampText } from "../domain/date-format.ts";
import { toDisplayText } from "../domain/display-text.ts";
import { FileRefusedError } from "../domain/file-refused-error.ts";
import { createJsonListSplitter, isJsonList } from "../domain/json-list.ts";
import type { PastAttempt } from "../domain/past-attempt.ts";
import { parseTimestamp } from "../domain/timestamp.ts";
import { INITIATORS, isApproved, parseCardFunding, type TransactionState } from "../domain/transaction.ts";
import {
  describeAmountRule,
  isAbsentWord,
  isSafeToShow,
  normalizeStateWord,
  parseTransactionState,
  toLowerSnakeCase,
  toMinorUnitsText,
  toUpperSnakeCase,
} from "../domain/value-format.ts";

import { findBrand } from "../engine/rules/card-networks.ts";
import { normalizeGatewayCode, normalizeNetworkCode } from "../engine/rules/gateway-codes.ts";
import { isUnsent } from "../engine/rules/unsent-attempts.ts";

import {
  findMixedInvoices,
  HISTORY_FIELDS,
  type HistoryFields,
  keepLatestVersion,
  mixedInvoiceProblem,
  type ParsedAttempt,
  SYNONYM_FIELDS,
  versionOf,
} from "./attempt-versions.ts";

/** A history as it was read. */
export interface PaymentHistory {
  attempts: PastAttempt[];
  /** The reasons why records were left out, each once: `state "HELD" is … (8 records, the first in line 7)`. The most frequent first. */
  problems: string[];
  /** How many records were left out for these reasons. */
  leftOut: number;
  /** Columns of a CSV that are not read. */
  passedOver: string[];
  /** Words whose meaning was said (--states), and that no record has. */
  unmet: string[];
  /** How many more, since they say of an attempt what another one says. */
  repeated: number;
}

/** The fault of a record. `kind` is the same for all records with the same fault. */
interface RecordFault {
  kind: string;
  says: string;
}

const PROBLEMS_MAX = 10;
/** A history of which more than this share is left out would be judged by what happened to be readable. */
const MAX_LEFT_OUT_SHARE = 0.05;

/**
 * Reads a history: CSV with a heading (commas, semicolons or tabs between columns), a JSON object on each line, or a JSON list of objects. Fields are called as those of a transaction of the API, in any
 * spelling (`invoiceId`, `invoice_id`, `Invoice ID`), or as `reading` says; unknown ones are passed over. A record that can't be read is
 * left out and reported, and one that repeats another is counted. Attempts are passed over that are neither paid nor failed, that never reached a bank, or
 * that checked a card without an amount.
 *
 * @throws when a field is missing that every record needs, or more than a few records can't be read
 */
export function parseHistory(text: string, reading: CsvFormat = DEFAULT_CSV_FORMAT): PaymentHistory {
  const unmarked = text.replace(/^\ufeff/, "");
  const isList = isJsonList(unmarked, LIST_NAME);
  const isJson = isList || unmarked.trimStart().startsWith("{");
  if (isJson) refuseCsvFormatForJson(reading);
  const passedOver: string[] = [];
  const place = isList ? "record" : "line";
  const lines = isList
    ? readRecords(unmarked)
    : isJson
      ? readJsonRecords(unmarked)
      : readCsvRecords(unmarked, reading, passedOver);
  const found = new Map<string, ParsedAttempt>();
  const wrong = new Map<string, { says: string; line: number; records: number }>();
  const unmet = stateWordsOf(reading);
  let [records, leftOut, repeated] = [0, 0, 0];
  const leaveOut = ({ kind, says }: RecordFault, line: number) => {
    leftOut++;
    const alike = wrong.get(kind);
    if (alike) alike.records++;
    else wrong.set(kind, { says, line, records: 1 });
  };
  for (const { line, fields } of lines) {
    records++;
    if (typeof fields !== "string") unmet.delete(normalizeStateWord(firstText(fields, SYNONYM_FIELDS.state) ?? ""));
    const attempt =
      typeof fields === "string" ? { kind: fields, says: fields } : parseAttempt(fields, isJson ? null : reading);
    if (attempt === null) continue;
    if ("says" in attempt) leaveOut(attempt, line);
    else if (!keepLatestVersion(found, { attempt, line, ...versionOf(fields as HistoryFields, reading) })) repeated++;
  }
  const mixed = findMixedInvoices(found.values());
  const attempts: PastAttempt[] = [];
  for (const { attempt, line } of found.values())
    if (mixed.has(attempt.invoiceId)) leaveOut({ kind: "mixed", says: mixedInvoiceProblem(attempt) }, line);
    else attempts.push(attempt);
  const problems = [...wrong.values()]
    .sort((a, b) => b.records - a.records)
    .slice(0, PROBLEMS_MAX)
    .map(({ says, line, records: alike }) =>
      alike === 1 ? `${says} (${place} ${line})` : `${says} (${alike} records, the first in ${place} ${line})`,
    );
  if (leftOut > MAX_LEFT_OUT_SHARE * records)
    throw new TypeError(`${leftOut} of its ${records} records can't be read: ${problems.join("; ")}`);
  return { attempts, problems, leftOut, passedOver, unmet: [...unmet], repeated };
}

interface HistoryRecord {
  line: number;
  /** A string says what is wrong. */
  fields: HistoryFields | string;
}

/** A body of the API's is a list of this name. */
const LIST_NAME = "transactions";

function* readRecords(text: string): Generator<HistoryRecord> {
  const list = createJsonListSplitter(LIST_NAME, text.length);
  for (const { record, json } of list.take(text)) yield { line: record, fields: parseJsonFields(json) };
  list.end();
}

function* readJsonRecords(text: string): Generator<HistoryRecord> {
  let line = 0;
  for (const json of text.split("\n")) {
    line++;
    if (json.trim() === "") continue;
    yield { line, fields: parseJsonFields(json) };
  }
}

function parseJsonFields(json: string): HistoryFields | string {
  try {
    const record = JSON.parse(json) as unknown;
    if (typeof record !== "object" || record === null) return "not a JSON object";
    const known = Object.entries(record).filter(([, value]) => value !== null && typeof value !== "object");
    return Object.fromEntries(
      known.map(([name, value]) => [FIELD_BY_SPELLING.get(normalizeName(name)) ?? name, String(value)]),
    );
  } catch {
    return "not JSON";
  }
}

const FIELD_BY_SPELLING = new Map([...HISTORY_FIELDS].map((name) => [normalizeName(name), name]));

/** @param passedOver  gets the columns that are not read */
function* readCsvRecords(text: string, reading: CsvFormat, passedOver: string[]): Generator<HistoryRecord> {
  const { delimiter, begin } = detectDelimiter(
    createFormulaReader()(text, true),
    createColumnFilter(HISTORY_FIELDS, reading),
  );
  const rows = parseCsvRows(createEmptyRowFilter(delimiter)(begin, true), delimiter);
  if (rows.length === 0) throw new TypeError("It is empty.");
  const written = rows[0]!.cells;
  const others = shadowedFields(reading);
  const names = mapHeader(written, HISTORY_FIELDS, reading).map(([, field]) => (others.has(field) ? undefined : field));
  passedOver.push(...written.filter((_, column) => names[column] === undefined));
  const missing = REQUIRED_FIELDS.filter((alike) => !alike.some((name) => names.includes(name)));
  if (missing.length > 0)
    throw new TypeError(
      `The heading has no ${missing.map(([name]) => name).join(", no ")}: --map FIELD=COLUMN says which column holds it. It has: ${formatColumnList(written)}.`,
    );
  for (const { cells, line } of rows.slice(1)) {
    const fields = hasColumns(cells, written)
      ? Object.fromEntries(
          names.flatMap((name, column) => (name === undefined ? [] : [[name, cellValue(cells[column]!, reading)]])),
        )
      : COLUMN_COUNT_MESSAGE;
    yield { line, fields };
  }
}

/** What a cell says; a word for a value that is not there says nothing. */
const cellValue = (cell: string, { states }: CsvFormat): string => {
  const text = unwrapFormula(cell);
  return isAbsentWord(text) && !states.has(normalizeStateWord(text)) ? "" : text;
};

/** The rows of a CSV, its heading among them, each with the line on which it begins. */
function parseCsvRows(text: string, delimiter: string): { cells: string[]; line: number }[] {
  const { options, begins, tornAt } = createCsvOptions(delimiter);
  try {
    return parse(text, options).map((cells, n) => ({ cells, line: begins[n]! }));
  } catch (error) {
    // The parser's own words repeat a cell, which may be anything.
    if (error instanceof CsvError) throw new FileRefusedError(`line ${tornAt(error)}: ${BAD_QUOTE_MESSAGE}`);
    throw error;
  }
}

/** Fields that say the same as one of which somebody said which column holds it: theirs are not meant. */
function shadowedFields({ columns }: CsvFormat): Set<string | undefined> {
  const mapped = Object.values(SYNONYM_FIELDS).filter((same) => same.some((field) => columns.has(field)));
  return new Set(mapped.flat().filter((field) => !columns.has(field)));
}

const REQUIRED_FIELDS = [["invoiceId"], SYNONYM_FIELDS.createdAt, SYNONYM_FIELDS.state, ["amount"], ["currency"]];

const UNKNOWN_STATE_PROBLEM = "is not known: write PAID, FAILED, or PENDING for neither";

/** Returns the first of these fields of a record that is not empty. */
const firstText = (fields: HistoryFields, names: readonly string[]) =>
  names.map((name) => fields[name]?.trim()).find((value) => value) ?? null;

/**
 * @param reading  null: of JSON
 * @returns null: neither paid nor failed, without money, or blocked by its gateway before any bank saw it
 */
function parseAttempt(fields: HistoryFields, reading: CsvFormat | null): PastAttempt | RecordFault | null {
  const { states, dates, decimals } = reading ?? DEFAULT_CSV_FORMAT;
  const text = (...names: string[]) => firstText(fields, names);
  const wrong = (field: string, why: string): RecordFault => ({ kind: field, says: `${field} ${why}` });
  const state = text(...SYNONYM_FIELDS.state);
  if (state === null) return wrong("state", "is missing");
  const word = normalizeStateWord(state);
  const outcome = (states.get(word) as TransactionState | undefined) ?? parseTransactionState(state);
  if (outcome === undefined) {
    // Each word for itself, as it stands in the file: what it means, its writer knows.
    const [kind, named] = isSafeToShow(word)
      ? [`state ${word}`, `state "${toDisplayText(state)}"`]
      : ["state unshown", "state"];
    return { kind, says: `${named} ${UNKNOWN_STATE_PROBLEM}${reading ? "; --states says what it means" : ""}` };
  }
  if (outcome === "PENDING" || outcome === "VOIDED") return null;
  const networkDeclineCode = text(...SYNONYM_FIELDS.networkDeclineCode);
  const paymentGatewayErrorCode = text("paymentGatewayErrorCode");
  const paymentGatewayStatus = text("paymentGatewayStatus");
  if (isUnsent({ state: outcome, paymentGatewayStatus, paymentGatewayErrorCode, networkDeclineCode })) return null;
  const invoiceId = text("invoiceId");
  if (invoiceId === null) return wrong("invoiceId", "is missing");
  const when = text(...SYNONYM_FIELDS.createdAt);
  if (when === null) return { kind: "createdAt missing", says: "createdAt is missing" };
  const at = parseTimestamp(toTimestampText(when, dates));
  if (!at) return wrong("createdAt", `"${when}" ${describeDateRule(reading, when)}`);
  const currency = text("currency")?.toUpperCase() ?? "";
  const money = text("amount") ?? "";
  const amount = toMinorUnitsText(money, currency, decimals);
  if (!/^\d{1,15}$/.test(amount)) return wrong("amount", `"${money}" ${describeAmountRule(reading, money, currency)}`);
  // A check of the card, at which no money was to move.
  if (Number(amount) === 0) return null;
  if (!/^[A-Z]{3}$/.test(currency)) return wrong("currency", `"${currency}" is not a currency, such as EUR`);
  const who = text("initiator");
  const initiator = INITIATORS.find((each) => who !== null && toUpperSnakeCase(who, "TRANSACTION_INITIATOR_") === each);
  if (who !== null && !initiator)
    return { kind: `initiator ${who}`, says: `initiator "${who}" is not known: write one of ${INITIATORS.join(", ")}` };
  const chance = text("propensity");
  if (chance !== null && !(Number(chance) > 0 && Number(chance) <= 1))
    return wrong("propensity", `"${chance}" is not a chance above 0`);
  const gateway = [text("paymentGatewayName"), text("paymentGatewayType")];
  const brand = findBrand(text("cardBrand"), text("paymentMethodType"));
  return {
    invoiceId,
    customerId: text("customerId") ?? invoiceId,
    at,
    approved: isApproved({ state: outcome }),
    initiator: initiator ?? null,
    amount: Number(amount),
    currency,
    chance: chance === null ? null : Number(chance),
    networkDeclineCode: normalizeNetworkCode(networkDeclineCode, brand, ...gateway),
    networkAdviceCode: text(...SYNONYM_FIELDS.networkAdviceCode),
    gatewayCode: normalizeGatewayCode(paymentGatewayErrorCode, ...gateway),
    declineCategory: text("declineCategory"),
    paymentMethodType: toLowerSnakeCase(text("paymentMethodType") ?? "") || null,
    cardBrand: text("cardBrand"),
    cardCountry: text("cardCountry")?.toUpperCase() ?? null,
    cardFunding: parseCardFunding(text("cardFunding") ?? "")?.toLowerCase() ?? null,
    cardIssuer: text("cardIssuer"),
    cardFingerprint: text("cardFingerprint", "paymentMethodId"),
    customerTimezone: text("customerTimezone"),
  };
}
