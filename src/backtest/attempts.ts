import { CsvError, parse } from "csv-parse/sync";
import {
  BAD_QUOTE,
  beginningOf,
  createEmptyRowFilter,
  createFormulaReader,
  csvReading,
  formulaText,
  hasColumns,
  NO_COLUMNS,
} from "../domain/csv.ts";
import { FileRefused } from "../domain/file-refused.ts";
import { isJsonList, jsonListParts } from "../domain/json-list.ts";
import { parseMoment } from "../domain/moment.ts";
import type { PastAttempt } from "../domain/past-attempt.ts";
import {
  headerOf,
  isRead,
  listedColumns,
  PLAIN,
  type Reading,
  refuseForJson,
  spelled,
  wordsToMeet,
} from "../domain/reading.ts";
import { shownText } from "../domain/shown-text.ts";
import { cardFundingOf, INITIATORS, isApproved, type TransactionState } from "../domain/transaction.ts";
import {
  amountSays,
  capitals,
  isAbsentWord,
  isShown,
  minorText,
  smallLetters,
  stateWord,
  transactionStateOf,
} from "../domain/written.ts";

import { momentSays, momentText } from "../domain/written-moment.ts";

import { brandOf } from "../rules/card-networks.ts";
import { gatewayCodeOf, networkCodeOf } from "../rules/gateway-codes.ts";
import { isUnsent } from "../rules/unsent.ts";

import {
  copyOf,
  FIELDS,
  type Fields,
  keepNewest,
  mixedInvoices,
  mixedWords,
  type ReadAttempt,
  SAME,
} from "./copies.ts";

/** A history as it was read. */
export interface History {
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
interface Wrong {
  kind: string;
  says: string;
}

const PROBLEMS_MAX = 10;
/** A history of which more than this share is left out would be judged by what happened to be readable. */
const LEFT_OUT_MAX = 0.05;

/**
 * Reads a history: CSV with a heading (commas, semicolons or tabs between columns), a JSON object on each line, or a JSON list of objects. Fields are called as those of a transaction of the API, in any
 * spelling (`invoiceId`, `invoice_id`, `Invoice ID`), or as `reading` says; unknown ones are passed over. A record that can't be read is
 * left out and reported, and one that repeats another is counted. Attempts are passed over that are neither paid nor failed, that never reached a bank, or
 * that checked a card without an amount.
 *
 * @throws when a field is missing that every record needs, or more than a few records can't be read
 */
export function readHistory(text: string, reading: Reading = PLAIN): History {
  const unmarked = text.replace(/^\ufeff/, "");
  const isList = isJsonList(unmarked, LIST_NAME);
  const isJson = isList || unmarked.trimStart().startsWith("{");
  if (isJson) refuseForJson(reading);
  const passedOver: string[] = [];
  const place = isList ? "record" : "line";
  const lines = isList ? listed(unmarked) : isJson ? jsonLines(unmarked) : csvLines(unmarked, reading, passedOver);
  const found = new Map<string, ReadAttempt>();
  const wrong = new Map<string, { says: string; line: number; records: number }>();
  const unmet = wordsToMeet(reading);
  let [records, leftOut, repeated] = [0, 0, 0];
  const leaveOut = ({ kind, says }: Wrong, line: number) => {
    leftOut++;
    const alike = wrong.get(kind);
    if (alike) alike.records++;
    else wrong.set(kind, { says, line, records: 1 });
  };
  for (const { line, fields } of lines) {
    records++;
    if (typeof fields !== "string") unmet.delete(stateWord(textOf(fields, SAME.state) ?? ""));
    const attempt =
      typeof fields === "string" ? { kind: fields, says: fields } : attemptOf(fields, isJson ? null : reading);
    if (attempt === null) continue;
    if ("says" in attempt) leaveOut(attempt, line);
    else if (!keepNewest(found, { attempt, line, ...copyOf(fields as Fields, reading) })) repeated++;
  }
  const mixed = mixedInvoices(found.values());
  const attempts: PastAttempt[] = [];
  for (const { attempt, line } of found.values())
    if (mixed.has(attempt.invoiceId)) leaveOut({ kind: "mixed", says: mixedWords(attempt) }, line);
    else attempts.push(attempt);
  const problems = [...wrong.values()]
    .sort((a, b) => b.records - a.records)
    .slice(0, PROBLEMS_MAX)
    .map(({ says, line, records: alike }) =>
      alike === 1 ? `${says} (${place} ${line})` : `${says} (${alike} records, the first in ${place} ${line})`,
    );
  if (leftOut > LEFT_OUT_MAX * records)
    throw new TypeError(`${leftOut} of its ${records} records can't be read: ${problems.join("; ")}`);
  return { attempts, problems, leftOut, passedOver, unmet: [...unmet], repeated };
}

interface Line {
  line: number;
  /** A string says what is wrong. */
  fields: Fields | string;
}

/** A body of the API's is a list of this name. */
const LIST_NAME = "transactions";

function* listed(text: string): Generator<Line> {
  const list = jsonListParts(LIST_NAME, text.length);
  for (const { record, json } of list.take(text)) yield { line: record, fields: jsonFields(json) };
  list.end();
}

function* jsonLines(text: string): Generator<Line> {
  let line = 0;
  for (const json of text.split("\n")) {
    line++;
    if (json.trim() === "") continue;
    yield { line, fields: jsonFields(json) };
  }
}

function jsonFields(json: string): Fields | string {
  try {
    const record = JSON.parse(json) as unknown;
    if (typeof record !== "object" || record === null) return "not a JSON object";
    const known = Object.entries(record).filter(([, value]) => value !== null && typeof value !== "object");
    return Object.fromEntries(known.map(([name, value]) => [NAMES.get(spelled(name)) ?? name, String(value)]));
  } catch {
    return "not JSON";
  }
}

const NAMES = new Map([...FIELDS].map((name) => [spelled(name), name]));

/** @param passedOver  gets the columns that are not read */
function* csvLines(text: string, reading: Reading, passedOver: string[]): Generator<Line> {
  const { delimiter, begin } = beginningOf(createFormulaReader()(text, true), isRead(FIELDS, reading));
  const rows = rowsOf(createEmptyRowFilter(delimiter)(begin, true), delimiter);
  if (rows.length === 0) throw new TypeError("It is empty.");
  const written = rows[0]!.cells;
  const others = notMeant(reading);
  const names = headerOf(written, FIELDS, reading).map(([, field]) => (others.has(field) ? undefined : field));
  passedOver.push(...written.filter((_, column) => names[column] === undefined));
  const missing = NEEDED.filter((alike) => !alike.some((name) => names.includes(name)));
  if (missing.length > 0)
    throw new TypeError(
      `The heading has no ${missing.map(([name]) => name).join(", no ")}: --map FIELD=COLUMN says which column holds it. It has: ${listedColumns(written)}.`,
    );
  for (const { cells, line } of rows.slice(1)) {
    const fields = hasColumns(cells, written)
      ? Object.fromEntries(
          names.flatMap((name, column) => (name === undefined ? [] : [[name, saidIn(cells[column]!, reading)]])),
        )
      : NO_COLUMNS;
    yield { line, fields };
  }
}

/** What a cell says; a word for a value that is not there says nothing. */
const saidIn = (cell: string, { states }: Reading): string => {
  const text = formulaText(cell);
  return isAbsentWord(text) && !states.has(stateWord(text)) ? "" : text;
};

/** The rows of a CSV, its heading among them, each with the line on which it begins. */
function rowsOf(text: string, delimiter: string): { cells: string[]; line: number }[] {
  const { options, begins, tornAt } = csvReading(delimiter);
  try {
    return parse(text, options).map((cells, n) => ({ cells, line: begins[n]! }));
  } catch (error) {
    // The parser's own words repeat a cell, which may be anything.
    if (error instanceof CsvError) throw new FileRefused(`line ${tornAt(error)}: ${BAD_QUOTE}`);
    throw error;
  }
}

/** Fields that say the same as one of which somebody said which column holds it: theirs are not meant. */
function notMeant({ columns }: Reading): Set<string | undefined> {
  const mapped = Object.values(SAME).filter((same) => same.some((field) => columns.has(field)));
  return new Set(mapped.flat().filter((field) => !columns.has(field)));
}

const NEEDED = [["invoiceId"], SAME.createdAt, SAME.state, ["amount"], ["currency"]];

const NOT_KNOWN = "is not known: write PAID, FAILED, or PENDING for neither";

/** Returns the first of these fields of a record that is not empty. */
const textOf = (fields: Fields, names: readonly string[]) =>
  names.map((name) => fields[name]?.trim()).find((value) => value) ?? null;

/**
 * @param reading  null: of JSON
 * @returns null: neither paid nor failed, without money, or blocked by its gateway before any bank saw it
 */
function attemptOf(fields: Fields, reading: Reading | null): PastAttempt | Wrong | null {
  const { states, dates, decimals } = reading ?? PLAIN;
  const text = (...names: string[]) => textOf(fields, names);
  const wrong = (field: string, why: string): Wrong => ({ kind: field, says: `${field} ${why}` });
  const state = text(...SAME.state);
  if (state === null) return wrong("state", "is missing");
  const word = stateWord(state);
  const outcome = (states.get(word) as TransactionState | undefined) ?? transactionStateOf(state);
  if (outcome === undefined) {
    // Each word for itself, as it stands in the file: what it means, its writer knows.
    const [kind, named] = isShown(word) ? [`state ${word}`, `state "${shownText(state)}"`] : ["state unshown", "state"];
    return { kind, says: `${named} ${NOT_KNOWN}${reading ? "; --states says what it means" : ""}` };
  }
  if (outcome === "PENDING" || outcome === "VOIDED") return null;
  const networkDeclineCode = text(...SAME.networkDeclineCode);
  const paymentGatewayErrorCode = text("paymentGatewayErrorCode");
  const paymentGatewayStatus = text("paymentGatewayStatus");
  if (isUnsent({ state: outcome, paymentGatewayStatus, paymentGatewayErrorCode, networkDeclineCode })) return null;
  const invoiceId = text("invoiceId");
  if (invoiceId === null) return wrong("invoiceId", "is missing");
  const when = text(...SAME.createdAt);
  if (when === null) return { kind: "createdAt missing", says: "createdAt is missing" };
  const at = parseMoment(momentText(when, dates));
  if (!at) return wrong("createdAt", `"${when}" ${momentSays(reading, when)}`);
  const currency = text("currency")?.toUpperCase() ?? "";
  const money = text("amount") ?? "";
  const amount = minorText(money, currency, decimals);
  if (!/^\d{1,15}$/.test(amount)) return wrong("amount", `"${money}" ${amountSays(reading, money, currency)}`);
  // A check of the card, at which no money was to move.
  if (Number(amount) === 0) return null;
  if (!/^[A-Z]{3}$/.test(currency)) return wrong("currency", `"${currency}" is not a currency, such as EUR`);
  const who = text("initiator");
  const initiator = INITIATORS.find((each) => who !== null && capitals(who, "TRANSACTION_INITIATOR_") === each);
  if (who !== null && !initiator)
    return { kind: `initiator ${who}`, says: `initiator "${who}" is not known: write one of ${INITIATORS.join(", ")}` };
  const chance = text("propensity");
  if (chance !== null && !(Number(chance) > 0 && Number(chance) <= 1))
    return wrong("propensity", `"${chance}" is not a chance above 0`);
  const gateway = [text("paymentGatewayName"), text("paymentGatewayType")];
  const brand = brandOf(text("cardBrand"), text("paymentMethodType"));
  return {
    invoiceId,
    customerId: text("customerId") ?? invoiceId,
    at,
    approved: isApproved({ state: outcome }),
    initiator: initiator ?? null,
    amount: Number(amount),
    currency,
    chance: chance === null ? null : Number(chance),
    networkDeclineCode: networkCodeOf(networkDeclineCode, brand, ...gateway),
    networkAdviceCode: text(...SAME.networkAdviceCode),
    gatewayCode: gatewayCodeOf(paymentGatewayErrorCode, ...gateway),
    declineCategory: text("declineCategory"),
    paymentMethodType: smallLetters(text("paymentMethodType") ?? "") || null,
    cardBrand: text("cardBrand"),
    cardCountry: text("cardCountry")?.toUpperCase() ?? null,
    cardFunding: cardFundingOf(text("cardFunding") ?? "")?.toLowerCase() ?? null,
    cardIssuer: text("cardIssuer"),
    cardFingerprint: text("cardFingerprint", "paymentMethodId"),
    customerTimezone: text("customerTimezone"),
  };
}
