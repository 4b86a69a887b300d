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

export interface PaymentHistory {
  attempts: PastAttempt[];
  /** Most frequent first: `state "HELD" is … (8 records, the first in line 7)`. */
  problems: string[];
  /** For these reasons. */
  leftOut: number;
  passedOver: string[];
  unmet: string[];
  repeated: number;
}

/** `kind` is equal for records with the same fault. */
interface RecordFault {
  kind: string;
  problem: string;
}

const PROBLEMS_MAX = 10;
/** With more left out, the result would depend on which records happen to be readable. */
const MAX_LEFT_OUT_SHARE = 0.05;

/**
 * Parses CSV with a header, JSONL, or a JSON list of objects. Fields are named as in the API's transactions, in any spelling
 * (`invoiceId`, `invoice_id`, `Invoice ID`), or as `csvFormat` maps them. Unreadable records are left out and reported,
 * duplicates are counted. Ignores attempts that are neither paid nor failed, never reached a bank, or only verified a card.
 *
 * @throws if a required field is missing, or too many records are unreadable
 */
export function parseHistory(text: string, csvFormat: CsvFormat = DEFAULT_CSV_FORMAT): PaymentHistory {
  const unmarked = text.replace(/^\ufeff/, "");
  const isList = isJsonList(unmarked, LIST_NAME);
  const isJson = isList || unmarked.trimStart().startsWith("{");
  if (isJson) refuseCsvFormatForJson(csvFormat);
  const passedOver: string[] = [];
  const place = isList ? "record" : "line";
  const lines = isList
    ? readRecords(unmarked)
    : isJson
      ? readJsonRecords(unmarked)
      : readCsvRecords(unmarked, csvFormat, passedOver);
  const found = new Map<string, ParsedAttempt>();
  const faultsByKind = new Map<string, { problem: string; line: number; records: number }>();
  const unusedStateWords = stateWordsOf(csvFormat);
  let [records, leftOut, repeated] = [0, 0, 0];
  const leaveOut = ({ kind, problem }: RecordFault, line: number) => {
    leftOut++;
    const fault = faultsByKind.get(kind);
    if (fault) fault.records++;
    else faultsByKind.set(kind, { problem, line, records: 1 });
  };
  for (const { line, fields } of lines) {
    records++;
    if (typeof fields !== "string")
      unusedStateWords.delete(normalizeStateWord(firstText(fields, SYNONYM_FIELDS.state) ?? ""));
    const attempt =
      typeof fields === "string" ? { kind: fields, problem: fields } : parseAttempt(fields, isJson ? null : csvFormat);
    if (attempt === null) continue;
    if ("problem" in attempt) leaveOut(attempt, line);
    else if (!keepLatestVersion(found, { attempt, line, ...versionOf(fields as HistoryFields, csvFormat) })) repeated++;
  }
  const mixed = findMixedInvoices(found.values());
  const attempts: PastAttempt[] = [];
  for (const { attempt, line } of found.values())
    if (mixed.has(attempt.invoiceId)) leaveOut({ kind: "mixed", problem: mixedInvoiceProblem(attempt) }, line);
    else attempts.push(attempt);
  const problems = [...faultsByKind.values()]
    .sort((a, b) => b.records - a.records)
    .slice(0, PROBLEMS_MAX)
    .map(({ problem, line, records }) =>
      records === 1
        ? `${problem} (${place} ${line})`
        : `${problem} (${records} records, the first in ${place} ${line})`,
    );
  if (leftOut > MAX_LEFT_OUT_SHARE * records)
    throw new TypeError(`${leftOut} of ${records} records cannot be read: ${problems.join("; ")}`);
  return { attempts, problems, leftOut, passedOver, unmet: [...unusedStateWords], repeated };
}

interface HistoryRecord {
  line: number;
  /** A string describes the problem. */
  fields: HistoryFields | string;
}

/** The API body's list. */
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
    const entries = Object.entries(record).filter(([, value]) => value !== null && typeof value !== "object");
    return Object.fromEntries(
      entries.map(([name, value]) => [FIELD_BY_SPELLING.get(normalizeName(name)) ?? name, String(value)]),
    );
  } catch {
    return "not JSON";
  }
}

const FIELD_BY_SPELLING = new Map([...HISTORY_FIELDS].map((name) => [normalizeName(name), name]));

/** @param passedOver  receives the ignored columns */
function* readCsvRecords(text: string, csvFormat: CsvFormat, passedOver: string[]): Generator<HistoryRecord> {
  const { delimiter, begin } = detectDelimiter(
    createFormulaReader()(text, true),
    createColumnFilter(HISTORY_FIELDS, csvFormat),
  );
  const rows = parseCsvRows(createEmptyRowFilter(delimiter)(begin, true), delimiter);
  if (rows.length === 0) throw new TypeError("The file is empty.");
  const header = rows[0]!.cells;
  const shadowed = shadowedFields(csvFormat);
  const names = mapHeader(header, HISTORY_FIELDS, csvFormat).map(([, field]) =>
    shadowed.has(field) ? undefined : field,
  );
  passedOver.push(...header.filter((_, column) => names[column] === undefined));
  const missing = REQUIRED_FIELDS.filter((synonyms) => !synonyms.some((name) => names.includes(name)));
  if (missing.length > 0)
    throw new TypeError(
      `The header lacks ${missing.map(([name]) => name).join(", ")}. Name the columns with --map FIELD=COLUMN. The columns are: ${formatColumnList(header)}.`,
    );
  for (const { cells, line } of rows.slice(1)) {
    const fields = hasColumns(cells, header)
      ? Object.fromEntries(
          names.flatMap((name, column) => (name === undefined ? [] : [[name, cellValue(cells[column]!, csvFormat)]])),
        )
      : COLUMN_COUNT_MESSAGE;
    yield { line, fields };
  }
}

/** Empty for words such as NULL. */
const cellValue = (cell: string, { states }: CsvFormat): string => {
  const text = unwrapFormula(cell);
  return isAbsentWord(text) && !states.has(normalizeStateWord(text)) ? "" : text;
};

/** With the header, each with its first line. */
function parseCsvRows(text: string, delimiter: string): { cells: string[]; line: number }[] {
  const { options, begins: rowLines, tornAt } = createCsvOptions(delimiter);
  try {
    return parse(text, options).map((cells, n) => ({ cells, line: rowLines[n]! }));
  } catch (error) {
    // The parser's own messages quote a cell, which may hold secrets.
    if (error instanceof CsvError) throw new FileRefusedError(`line ${tornAt(error)}: ${BAD_QUOTE_MESSAGE}`);
    throw error;
  }
}

/** Synonyms of explicitly mapped fields are ignored. */
function shadowedFields({ columns }: CsvFormat): Set<string | undefined> {
  const mapped = Object.values(SYNONYM_FIELDS).filter((synonyms) => synonyms.some((field) => columns.has(field)));
  return new Set(mapped.flat().filter((field) => !columns.has(field)));
}

const REQUIRED_FIELDS = [["invoiceId"], SYNONYM_FIELDS.createdAt, SYNONYM_FIELDS.state, ["amount"], ["currency"]];

const UNKNOWN_STATE_PROBLEM = "is unknown: write PAID, FAILED, or PENDING for neither";

/** Skips empty values. */
const firstText = (fields: HistoryFields, names: readonly string[]) =>
  names.map((name) => fields[name]?.trim()).find((value) => value) ?? null;

/**
 * @param csvFormat  null for JSON
 * @returns null if the attempt is neither paid nor failed, has no amount, or never reached a bank
 */
function parseAttempt(fields: HistoryFields, csvFormat: CsvFormat | null): PastAttempt | RecordFault | null {
  const { states, dates, decimals } = csvFormat ?? DEFAULT_CSV_FORMAT;
  const text = (...names: string[]) => firstText(fields, names);
  const fault = (field: string, problem: string): RecordFault => ({ kind: field, problem: `${field} ${problem}` });
  const state = text(...SYNONYM_FIELDS.state);
  if (state === null) return fault("state", "is missing");
  const word = normalizeStateWord(state);
  const outcome = (states.get(word) as TransactionState | undefined) ?? parseTransactionState(state);
  if (outcome === undefined) {
    // Each word is a separate kind, because its writer must map it.
    const [kind, label] = isSafeToShow(word)
      ? [`state ${word}`, `state "${toDisplayText(state)}"`]
      : ["state unshown", "state"];
    return { kind, problem: `${label} ${UNKNOWN_STATE_PROBLEM}${csvFormat ? ", or map it with --states" : ""}` };
  }
  if (outcome === "PENDING" || outcome === "VOIDED") return null;
  const networkDeclineCode = text(...SYNONYM_FIELDS.networkDeclineCode);
  const paymentGatewayErrorCode = text("paymentGatewayErrorCode");
  const paymentGatewayStatus = text("paymentGatewayStatus");
  if (isUnsent({ state: outcome, paymentGatewayStatus, paymentGatewayErrorCode, networkDeclineCode })) return null;
  const invoiceId = text("invoiceId");
  if (invoiceId === null) return fault("invoiceId", "is missing");
  const createdAt = text(...SYNONYM_FIELDS.createdAt);
  if (createdAt === null) return { kind: "createdAt missing", problem: "createdAt is missing" };
  const at = parseTimestamp(toTimestampText(createdAt, dates));
  if (!at) return fault("createdAt", `"${createdAt}" ${describeDateRule(csvFormat, createdAt)}`);
  const currency = text("currency")?.toUpperCase() ?? "";
  const money = text("amount") ?? "";
  const amount = toMinorUnitsText(money, currency, decimals);
  if (!/^\d{1,15}$/.test(amount))
    return fault("amount", `"${money}" ${describeAmountRule(csvFormat, money, currency)}`);
  if (Number(amount) === 0) return null;
  if (!/^[A-Z]{3}$/.test(currency)) return fault("currency", `"${currency}" is not a currency, such as EUR`);
  const initiatorText = text("initiator");
  const initiator = INITIATORS.find(
    (each) => initiatorText !== null && toUpperSnakeCase(initiatorText, "TRANSACTION_INITIATOR_") === each,
  );
  if (initiatorText !== null && !initiator)
    return {
      kind: `initiator ${initiatorText}`,
      problem: `initiator "${initiatorText}" is unknown: write one of ${INITIATORS.join(", ")}`,
    };
  const propensity = text("propensity");
  if (propensity !== null && !(Number(propensity) > 0 && Number(propensity) <= 1))
    return fault("propensity", `"${propensity}" is not a probability above 0 and at most 1`);
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
    chance: propensity === null ? null : Number(propensity),
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
