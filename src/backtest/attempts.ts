import { parse } from "csv-parse/sync";
import type { PastAttempt } from "../domain/past-attempt.ts";

/** A history as it was read. */
export interface History {
  attempts: PastAttempt[];
  /** What was left out, and why: `line 7: amount "12.5" is no whole number of minor units`. The first few. */
  problems: string[];
  /** How many records were left out. */
  leftOut: number;
}

type Fields = Readonly<Record<string, string>>;

const PROBLEMS_MAX = 10;

/**
 * Reads a history: CSV with a heading, or a JSON object on each line. Fields are called as those of a transaction of the API, in any
 * spelling (`invoiceId`, `invoice_id`, `Invoice ID`); unknown ones are passed over. A record that can't be read is left out and
 * told of; attempts that are neither paid nor failed are passed over.
 *
 * @throws when a field is missing that every record needs
 */
export function readHistory(text: string): History {
  const records = text.trimStart().startsWith("{") ? jsonLines(text) : csvLines(text);
  const history: History = { attempts: [], problems: [], leftOut: 0 };
  for (const { line, fields } of records) {
    const read = typeof fields === "string" ? fields : attemptOf(fields);
    if (typeof read === "string") {
      history.leftOut++;
      if (history.problems.length < PROBLEMS_MAX) history.problems.push(`line ${line}: ${read}`);
    } else if (read) history.attempts.push(read);
  }
  return history;
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
  const rows = parse(text, { bom: true, info: true, relax_column_count: true, skip_empty_lines: true }) as unknown as {
    info: { lines: number };
    record: string[];
  }[];
  const names = rows[0]?.record.map(spelled) ?? [];
  const missing = NEEDED.filter((alike) => !alike.some((name) => names.includes(name)));
  if (missing.length > 0)
    throw new TypeError(
      `The heading has no ${missing.map(([name]) => name).join(", no ")}. It has: ${names.join(", ")}.`,
    );
  for (const { info, record } of rows.slice(1))
    yield { line: info.lines, fields: Object.fromEntries(names.map((name, column) => [name, record[column] ?? ""])) };
}

/** `Invoice ID`, `invoice_id` and `invoiceId` are one name. */
const spelled = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");

const NEEDED = [["invoiceid"], ["createdat", "attemptedat", "at"], ["state", "status"], ["amount"], ["currency"]];

/** null: neither paid nor failed. A string says what is wrong. */
function attemptOf(fields: Fields): PastAttempt | string | null {
  const text = (...names: string[]) => names.map((name) => fields[name]?.trim()).find((value) => value) ?? null;
  const state = text("state", "status")?.toUpperCase().replace("TRANSACTION_STATE_", "");
  const approved = state === undefined ? undefined : APPROVED[state];
  if (state === undefined) return "state is missing";
  if (approved === undefined) return null;
  const invoiceId = text("invoiceid");
  if (invoiceId === null) return "invoiceId is missing";
  const when = text("createdat", "attemptedat", "at");
  const at = new Date(when ?? "");
  if (Number.isNaN(at.getTime())) return `createdAt "${when ?? ""}" is no moment`;
  const amount = text("amount");
  if (amount === null || !/^\d{1,15}$/.test(amount))
    return `amount "${amount ?? ""}" is no whole number of minor units`;
  const currency = text("currency")?.toUpperCase();
  if (!currency || !/^[A-Z]{3}$/.test(currency)) return `currency "${currency ?? ""}" is no currency`;
  const chance = text("propensity");
  if (chance !== null && !(Number(chance) > 0 && Number(chance) <= 1))
    return `propensity "${chance}" is no chance above 0`;
  return {
    invoiceId,
    customerId: text("customerid") ?? invoiceId,
    at,
    approved,
    amount: Number(amount),
    currency,
    chance: chance === null ? null : Number(chance),
    networkDeclineCode: text("networkdeclinecode", "declinecode"),
    networkAdviceCode: text("networkadvicecode", "advicecode"),
    gatewayCode: text("paymentgatewayerrorcode"),
    gateway: [text("paymentgatewayname"), text("paymentgatewaytype")].filter((each) => each !== null).join(" ") || null,
    declineCategory: text("declinecategory"),
    paymentMethodType: text("paymentmethodtype"),
    cardBrand: text("cardbrand"),
    cardCountry: text("cardcountry"),
    cardFunding: text("cardfunding")?.toLowerCase().replace("card_funding_", "") ?? null,
    cardIssuer: text("cardissuer"),
    cardFingerprint: text("cardfingerprint", "paymentmethodid"),
    customerTimezone: text("customertimezone"),
  };
}

const APPROVED: Readonly<Record<string, boolean>> = {
  PAID: true,
  SUCCEEDED: true,
  APPROVED: true,
  REFUNDED: true,
  DISPUTED: true,
  FAILED: false,
  DECLINED: false,
};
