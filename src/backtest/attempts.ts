import { parse } from "csv-parse/sync";
import { parseMoment } from "../domain/moment.ts";
import type { PastAttempt } from "../domain/past-attempt.ts";
import { separatorOf } from "../domain/separator.ts";
import { INITIATORS } from "../domain/transaction.ts";
import { gatewayCodeOf } from "../rules/gateway-codes.ts";
import { copyOf, type Fields, keepNewest, mixedInvoices, mixedWords, type ReadAttempt } from "./copies.ts";

/** A history as it was read. */
export interface History {
  attempts: PastAttempt[];
  /** What was left out, and why, each reason once: `state "HELD" is … (8 records, the first in line 7)`. The most frequent first. */
  problems: string[];
  /** How many records were left out for these reasons. */
  leftOut: number;
  /** How many more, since they say of an attempt what another one says. */
  repeated: number;
}

/** What is wrong with a record. `kind` is the same for all that are wrong alike. */
interface Wrong {
  kind: string;
  says: string;
}

const PROBLEMS_MAX = 10;
/** A history of which more than this share is left out would be judged by what happened to be readable. */
const LEFT_OUT_MAX = 0.05;

/**
 * Reads a history: CSV with a heading (commas, semicolons or tabs between columns), or a JSON object on each line. Fields are called as those of a transaction of the API, in any
 * spelling (`invoiceId`, `invoice_id`, `Invoice ID`); unknown ones are passed over. A record that can't be read is left out and
 * told of, and one that repeats another is counted; attempts that are neither paid nor failed, and checks of a card without an amount, are passed over.
 *
 * @throws when a field is missing that every record needs, or more than a few records can't be read
 */
export function readHistory(text: string): History {
  const unmarked = text.replace(/^\ufeff/, "");
  const begin = unmarked.trimStart()[0];
  if (begin === "[") throw new TypeError("It is one JSON array; an object on each line is needed.");
  const lines = begin === "{" ? jsonLines(unmarked) : csvLines(unmarked);
  const found = new Map<string, ReadAttempt>();
  const wrong = new Map<string, { says: string; line: number; records: number }>();
  let [records, leftOut, repeated] = [0, 0, 0];
  const leaveOut = ({ kind, says }: Wrong, line: number) => {
    leftOut++;
    const alike = wrong.get(kind);
    if (alike) alike.records++;
    else wrong.set(kind, { says, line, records: 1 });
  };
  for (const { line, fields } of lines) {
    records++;
    const attempt = typeof fields === "string" ? { kind: fields, says: fields } : attemptOf(fields);
    if (attempt === null) continue;
    if ("says" in attempt) leaveOut(attempt, line);
    else if (!keepNewest(found, { attempt, line, ...copyOf(fields as Fields) })) repeated++;
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
      alike === 1 ? `${says} (line ${line})` : `${says} (${alike} records, the first in line ${line})`,
    );
  if (leftOut > LEFT_OUT_MAX * records)
    throw new TypeError(`${leftOut} of its ${records} records can't be read: ${problems.join("; ")}`);
  return { attempts, problems, leftOut, repeated };
}

interface Line {
  line: number;
  /** A string says what is wrong. */
  fields: Fields | string;
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
    return Object.fromEntries(known.map(([name, value]) => [spelled(name), String(value)]));
  } catch {
    return "not JSON";
  }
}

function* csvLines(text: string): Generator<Line> {
  const rows = parse(text, {
    delimiter: separatorOf(text),
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true, // a spreadsheet's empty rows
  }) as unknown as {
    info: { lines: number };
    record: string[];
  }[];
  if (rows.length === 0) throw new TypeError("It is empty.");
  const written = rows[0]!.record;
  const names = written.map(spelled);
  const missing = NEEDED.filter((alike) => !alike.some((name) => names.includes(spelled(name))));
  if (missing.length > 0)
    throw new TypeError(
      `The heading has no ${missing.map(([name]) => name).join(", no ")}. It has: ${written.join(", ")}.`,
    );
  for (const { info, record } of rows.slice(1))
    yield { line: info.lines, fields: Object.fromEntries(names.map((name, column) => [name, record[column] ?? ""])) };
}

/** `Invoice ID`, `invoice_id` and `invoiceId` are one name. */
const spelled = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");

const NEEDED = [["invoiceId"], ["createdAt", "attemptedAt", "at"], ["state", "status"], ["amount"], ["currency"]];

/** null: neither paid nor failed, or without money. */
function attemptOf(fields: Fields): PastAttempt | Wrong | null {
  const text = (...names: string[]) => names.map((name) => fields[name]?.trim()).find((value) => value) ?? null;
  const wrong = (field: string, why: string): Wrong => ({ kind: field, says: `${field} ${why}` });
  const state = text("state", "status");
  if (state === null) return wrong("state", "is missing");
  const outcome = OUTCOMES.get(capitals(state).replace("TRANSACTION_STATE_", ""));
  // Each word for itself: what it means, its writer knows.
  if (outcome === undefined)
    return {
      kind: `state ${state}`,
      says: `state "${state}" is not known: write PAID or FAILED, or PENDING for neither`,
    };
  if (outcome === "neither") return null;
  const invoiceId = text("invoiceid");
  if (invoiceId === null) return wrong("invoiceId", "is missing");
  const when = text("createdat", "attemptedat", "at");
  if (when === null) return { kind: "createdAt missing", says: "createdAt is missing" };
  const at = parseMoment(/^\d{4}-\d\d-\d\d$/.test(when) ? `${when}T00:00:00Z` : when);
  if (!at) return wrong("createdAt", `"${when}" can't be read: write it as 2026-01-02T08:00:00Z, or as 2026-01-02`);
  const amount = text("amount");
  if (amount === null || !/^\d{1,15}$/.test(amount))
    return wrong("amount", `"${amount ?? ""}" is not a whole number of minor units, such as 4900`);
  // A check of the card, at which no money was to move.
  if (Number(amount) === 0) return null;
  const currency = text("currency")?.toUpperCase();
  if (!currency || !/^[A-Z]{3}$/.test(currency))
    return wrong("currency", `"${currency ?? ""}" is not a currency, such as EUR`);
  const who = text("initiator");
  const initiator = INITIATORS.find(
    (each) => who !== null && capitals(who).replace("TRANSACTION_INITIATOR_", "") === each,
  );
  if (who !== null && !initiator)
    return { kind: `initiator ${who}`, says: `initiator "${who}" is not known: write one of ${INITIATORS.join(", ")}` };
  const chance = text("propensity");
  if (chance !== null && !(Number(chance) > 0 && Number(chance) <= 1))
    return wrong("propensity", `"${chance}" is not a chance above 0`);
  return {
    invoiceId,
    customerId: text("customerid") ?? invoiceId,
    at,
    approved: outcome === "paid",
    initiator: initiator ?? null,
    amount: Number(amount),
    currency,
    chance: chance === null ? null : Number(chance),
    networkDeclineCode: text("networkdeclinecode", "declinecode"),
    networkAdviceCode: text("networkadvicecode", "advicecode"),
    gatewayCode: gatewayCodeOf(text("paymentgatewayerrorcode"), text("paymentgatewayname"), text("paymentgatewaytype")),
    declineCategory: text("declinecategory"),
    paymentMethodType:
      text("paymentmethodtype")
        ?.toLowerCase()
        .replace(/[\s-]+/g, "_") ?? null,
    cardBrand: text("cardbrand"),
    cardCountry: text("cardcountry")?.toUpperCase() ?? null,
    cardFunding: text("cardfunding")?.toLowerCase().replace("card_funding_", "") ?? null,
    cardIssuer: text("cardissuer"),
    cardFingerprint: text("cardfingerprint", "paymentmethodid"),
    customerTimezone: text("customertimezone"),
  };
}

/** `Partially refunded` is PARTIALLY_REFUNDED. */
const capitals = (word: string) => word.toUpperCase().replace(/[^A-Z]+/g, "_");

/** Words for a state that mean the same wherever they are used. Of others, "authorised" or "processed", only who writes them knows whether money came. */
export const STATE_WORDS = {
  paid: "PAID SUCCEEDED SUCCESS SUCCESSFUL APPROVED CAPTURED SETTLED REFUNDED PARTIALLY_REFUNDED DISPUTED",
  failed: "FAILED FAILURE UNSUCCESSFUL DECLINED REFUSED REJECTED ERROR",
  neither: "PENDING PROCESSING VOIDED VOID CANCELED CANCELLED",
} as const;
const OUTCOMES = new Map(
  (["paid", "failed", "neither"] as const).flatMap((outcome) =>
    STATE_WORDS[outcome].split(" ").map((word) => [word, outcome] as const),
  ),
);
